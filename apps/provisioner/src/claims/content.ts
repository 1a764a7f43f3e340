import { messageOf } from '@csi-sidecars/base'
import type { VolumeContentSource } from '@csi-sidecars/csi-proto'
import { namespacedRef, PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import { claimProjection, isPending, type ProvisionerClaim, snapshotKey, sourceIndexKeys } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { CLONE_FINALIZER } from '../caches/names.ts'
import { CLAIMS_BY_SOURCE } from '../caches/open.ts'
import { volumeNameOf } from '../request/request.ts'
import { checkOriginal, cloneSource } from '../sources/clone.ts'
import { type ClaimSource, sourceError, sourceOf } from '../sources/data-source.ts'
import { protectSnapshot, releaseSnapshot } from '../sources/protection.ts'
import { expansionNotice, snapshotSource } from '../sources/snapshot.ts'
import { StoredClaim } from '../stored-claim.ts'
import { hasOurFinalizer } from './decide.ts'
import type { ClaimDeps, ClaimRun } from './run.ts'

/** A claim and the data source that its volume is made from. */
export interface ContentSourceRequest {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly source: ClaimSource
}

/**
 * Returns the data source for CreateVolume, and puts a finalizer on the source object. The use of the source begins, and
 * the caller must end it. Throws ProvisionError.
 */
export function prepareContentSource(run: ClaimRun, request: ContentSourceRequest): Promise<VolumeContentSource> {
  return request.source.kind === 'VolumeSnapshot' ? snapshotContent(run, request) : cloneContent(run, request)
}

async function snapshotContent(
  { deps, signal, log }: ClaimRun,
  request: ContentSourceRequest,
): Promise<VolumeContentSource> {
  const { api, settings, uses } = deps
  const { namespace, name } = request.source
  const restore = { ...request, preventModeConversion: settings.preventModeConversion }
  const key = snapshotKey(`${namespace}/${name}`)
  uses.begin(request.claim.uid, key)
  return await uses.runExclusively(key, signal, async () => {
    let source = await snapshotSource(restore, api, signal)
    await protectSnapshot(
      { api, signal, log },
      {
        latest: () => source.snapshot,
        refresh: async () => {
          source = await snapshotSource(restore, api, signal)
        },
      },
    )
    const notice = expansionNotice(restore, source.snapshot)
    if (notice !== undefined) log.warn(notice, UNQUOTED)
    return source.content
  })
}

async function cloneContent(run: ClaimRun, request: ContentSourceRequest): Promise<VolumeContentSource> {
  const { deps, signal } = run
  const { api, claims, uses } = deps
  const { claim, source } = request
  const clone = { ...request, original: claims.store.get(`${source.namespace}/${source.name}`) }
  const original = checkOriginal(clone)
  uses.begin(claim.uid, original.uid)
  return await uses.runExclusively(original.uid, signal, async () => {
    const content = await cloneSource(clone, api, signal)
    const { kind } = await new StoredClaim(original, { api, claims, signal }).addFinalizer({
      finalizer: CLONE_FINALIZER,
    })
    if (kind === 'deleting') throw sourceError(source, `the PVC DataSource ${source.name} is currently being deleted`)
    if (kind === 'gone') throw sourceError(source, `the PVC DataSource ${source.name} is gone`)
    return content
  })
}

/** Removes our finalizer from the snapshot if no other claim restores it. `sweepSnapshots` repeats a failed removal. */
export async function releaseSource(run: ClaimRun, claim: ProvisionerClaim): Promise<void> {
  const { deps, signal, log } = run
  const { api, uses } = deps
  uses.end(claim.uid)
  const source = sourceOf(claim)
  if (source?.kind !== 'VolumeSnapshot') return
  const key = `${source.namespace}/${source.name}`
  const isNeeded = (): boolean => isRestoring(deps, key, claim.uid)
  if (isNeeded()) return
  try {
    await releaseSnapshot({ api, uses, signal, log, isNeeded }, key)
  } catch (error) {
    signal.throwIfAborted()
    log.warn('Failed to remove snapshot finalizer', { snapshot: key, err: messageOf(error) })
  }
}

/** Reports whether a cached claim still needs the snapshot: it has no volume, or its CreateVolume call may be running. */
export function isRestoring(deps: ClaimDeps, key: string, except?: string): boolean {
  const { claims, settings, uses } = deps
  if (uses.isUsed(snapshotKey(key))) return true
  // If a claim is deleted before its first CreateVolume, only the sweep removes the finalizer of the snapshot. Without the
  // sweep the finalizer would stay, so claims that only wait do not keep it.
  if (settings.sweepMs <= 0) return false
  return claims.store
    .byIndex(CLAIMS_BY_SOURCE, snapshotKey(key))
    .some((each) => each.uid !== except && stillNeedsSource(each, deps))
}

/** Lists the claims in the namespace of the snapshot, and reports whether a claim still needs the snapshot. */
export async function isRestoringInFreshList(deps: ClaimDeps, key: string, signal: AbortSignal): Promise<boolean> {
  const project = claimProjection(deps.settings.claimFinalizer)
  const { namespace } = namespacedRef(key)
  const options = {
    namespace,
    project: (pvc: Parameters<typeof project>[0]) => project(pvc),
    signal,
    priority: 'low',
  } as const
  for await (const { items } of deps.api.list(PERSISTENT_VOLUME_CLAIMS, options)) {
    if (items.some((each) => sourceIndexKeys(each).includes(snapshotKey(key)) && stillNeedsSource(each, deps)))
      return true
  }
  return false
}

/** Reports whether the claim has no volume yet, or has our finalizer because a CreateVolume call may be running. */
function stillNeedsSource(claim: ProvisionerClaim, { volumes, memory, settings }: ClaimDeps): boolean {
  if (!isPending(claim) && !hasOurFinalizer(claim, settings)) return false
  const name = volumeNameOf(claim.uid, settings)
  return volumes.store.get(name)?.claimUid !== claim.uid && !memory.unsavedVolumes.has(name)
}
