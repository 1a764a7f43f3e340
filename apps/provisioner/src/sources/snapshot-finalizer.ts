import { isConflict, isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { VOLUME_SNAPSHOTS, type VolumeSnapshot } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { SNAPSHOT_FINALIZER } from '../caches/names.ts'

export interface SnapshotWrite {
  readonly api: Pick<KubeClient, 'get' | 'replace'>
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Keeps the snapshot until the restore is over. Continues without the permission, which older roles lack. */
export async function protectSnapshot({ api, signal, log }: SnapshotWrite, snapshot: VolumeSnapshot): Promise<void> {
  const finalizers = snapshot.metadata?.finalizers ?? []
  if (finalizers.includes(SNAPSHOT_FINALIZER)) return
  const metadata = { ...snapshot.metadata, finalizers: [...finalizers, SNAPSHOT_FINALIZER] }
  try {
    await api.replace(VOLUME_SNAPSHOTS, { ...snapshot, metadata }, { signal })
  } catch (error) {
    if (!isForbidden(error)) throw error
    log
      .v(3)
      ?.info('No permission to add a finalizer to the snapshot, continuing without its protection', { err: error })
  }
}

const CONFLICT_TRIES = 5

/** Removes our finalizer. Throws if the server refuses. */
export async function releaseSnapshot({ api, signal }: SnapshotWrite, key: string): Promise<void> {
  const [namespace = '', name = ''] = key.split('/')
  for (let left = CONFLICT_TRIES; ; left -= 1) {
    try {
      const snapshot = await api.get(VOLUME_SNAPSHOTS, { namespace, name }, { signal })
      const finalizers = snapshot.metadata?.finalizers ?? []
      if (!finalizers.includes(SNAPSHOT_FINALIZER)) return
      const kept = finalizers.filter((each) => each !== SNAPSHOT_FINALIZER)
      const metadata = { ...snapshot.metadata, finalizers: kept }
      await api.replace(VOLUME_SNAPSHOTS, { ...snapshot, metadata }, { signal })
      return
    } catch (error) {
      if (isNotFound(error)) return
      if (!isConflict(error) || left <= 1) throw error
    }
  }
}
