import { isNotFound } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import { isToBeDeleted } from './decide.ts'
import { type LostContent, lostHandleOf } from './memory.ts'
import { isNamedByOther } from './observe.ts'
import type { ContentRun } from './run.ts'

/**
 * Whether a content uses the snapshot of a lost content. `maybeUsed`: another content of the same VolumeSnapshot may soon
 * create the snapshot again.
 */
export type SnapshotUse = 'unused' | 'maybeUsed' | 'used'

/** Returns whether a content uses the snapshot. Asks the API server for the name of the lost content. */
export async function observeUse({ deps, key, signal }: ContentRun, lost: LostContent): Promise<SnapshotUse> {
  const { api, kind, contents } = deps
  const { content } = lost
  try {
    const object = await api.get<KubeObject>(kind.resource, { name: key }, { signal })
    // A content that leaves the cache may only have a new driver or a new label.
    if (object.metadata?.uid === content.uid) return 'used'
    contents.storeAnswer(object)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const handle = lostHandleOf(lost)
  if (handle !== undefined && isNamedByOther(deps, content, handle)) return 'used'
  let use: SnapshotUse = 'unused'
  for (const other of contents.store.values()) {
    if (other.volumes.length === 0 || other.refUid !== content.refUid || other.uid === content.uid) continue
    if (other.key !== content.key || needsSnapshot(other)) return 'used'
    // An uncertain DeleteSnapshot may still delete the snapshot, so it must not be used again.
    const isDeleting = deps.memory.uncertainDeletionEnd(content.refUid) !== undefined
    if (!isToBeDeleted(other) && !isDeleting) use = 'maybeUsed'
  }
  return use
}

/** Reports whether the content may already have the snapshot, or wants to keep it. */
function needsSnapshot({ beingCreated, status, policy }: Content): boolean {
  return beingCreated || status?.handle !== undefined || policy !== 'Delete'
}
