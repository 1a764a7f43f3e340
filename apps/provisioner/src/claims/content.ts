import { messageOf } from '@csi-sidecars/base'
import type { VolumeContentSource } from '@csi-sidecars/csi-proto'
import { namespacedRef } from '@csi-sidecars/kube-types'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import { type ProvisionerClaim, snapshotKey } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { CLONE_FINALIZER } from '../caches/names.ts'
import { CLAIMS_BY_SOURCE } from '../caches/open.ts'
import { withFinalizer } from '../edit.ts'
import { volumeNameOf } from '../request/request.ts'
import { checkOriginal, cloneSource } from '../sources/clone.ts'
import { type ClaimSource, sourceError, sourceOf } from '../sources/data-source.ts'
import { protectSnapshot, releaseSnapshot } from '../sources/protection.ts'
import { expansionNotice, snapshotSource } from '../sources/snapshot.ts'
import { type ClaimDeps, type ClaimRun, edit } from './run.ts'

export interface ContentSourceParts {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly source: ClaimSource
}

/** Returns the data source for CreateVolume, and puts a finalizer on the source object. Throws ProvisionError. */
export async function contentSource(run: ClaimRun, parts: ContentSourceParts): Promise<VolumeContentSource> {
  const { deps, signal, log } = run
  const { api, claims, settings } = deps
  const { source } = parts
  if (source.kind === 'VolumeSnapshot') {
    const { preventModeConversion } = settings
    const restore = { ...parts, preventModeConversion }
    const { content, snapshot } = await snapshotSource(restore, api, signal)
    const notice = expansionNotice(restore, snapshot)
    if (notice !== undefined) log.warn(notice, UNQUOTED)
    await protectSnapshot({ api, signal, log }, snapshot)
    return content
  }
  const original = claims.store.get(`${source.namespace}/${source.name}`)
  const clone = { ...parts, original }
  const content = await cloneSource(clone, api, signal)
  const found = checkOriginal(clone)
  if (found.finalizers?.includes(CLONE_FINALIZER) === true) return content
  if (!(await edit(run, found, withFinalizer(CLONE_FINALIZER))))
    throw sourceError(source, `the PVC DataSource ${source.name} is gone`)
  return content
}

/** Removes our finalizer from the snapshot if no other claim restores it. `sweepSnapshots` repeats a failed removal. */
export async function releaseSource(run: ClaimRun, claim: ProvisionerClaim): Promise<void> {
  const { deps, signal, log } = run
  const source = sourceOf(claim)
  if (source?.kind !== 'VolumeSnapshot') return
  const key = `${source.namespace}/${source.name}`
  if (isRestoring(deps, key, claim.uid)) return
  try {
    await releaseSnapshot({ api: deps.api, signal, log }, key)
  } catch (error) {
    signal.throwIfAborted()
    log.warn('Failed to remove snapshot finalizer', { snapshot: key, err: messageOf(error) })
  }
}

/** Reports whether a claim still needs the snapshot: it has no volume, or its CreateVolume call may be running. */
export function isRestoring(deps: ClaimDeps, key: string, except?: string): boolean {
  const { claims, volumes, memory, settings } = deps
  const isProvisioned = ({ uid }: ProvisionerClaim): boolean => {
    const name = volumeNameOf(uid, settings)
    return volumes.store.get(name)?.claimUid === uid || memory.unsaved.has(name)
  }
  const waiting = claims.store.byIndex(CLAIMS_BY_SOURCE, snapshotKey(key)).some((each) => {
    const isPending = each.phase === undefined || each.phase === '' || each.phase === 'Pending'
    return each.uid !== except && isPending && !isProvisioned(each)
  })
  // Without the sweep, nothing would remove the finalizer after a claim that only waits is deleted.
  if (settings.sweepMs > 0 && waiting) return true
  for (const [uid, { claim }] of memory.inProgress) {
    const source = uid === except ? undefined : claim.wanted?.dataSource
    if (source?.kind === 'VolumeSnapshot' && `${namespacedRef(claim.key).namespace}/${source.name}` === key) return true
  }
  return false
}
