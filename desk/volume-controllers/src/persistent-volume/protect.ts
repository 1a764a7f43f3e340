import { type Controller, enqueueOn, objectOf, presentKey } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { isInvalid, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, refOf } from '@csi-sidecars/kube-types'
import { PODS_BY_CLAIM } from '../caches/caches.ts'
import { type CachedPod, claimKeysOf, podProjection } from '../caches/pod.ts'
import { coalesced } from '../coalesce.ts'
import { baseController, type ControllerParts, settledUnlessFailed } from '../control.ts'
import { unusedPatch } from './patches.ts'
import { decideClaimProtection, decideUnused, decideVolumeProtection } from './protection.ts'

/** Reads from the API server which claims of a namespace are used by scheduled pods. */
export type LiveUse = (namespace: string, signal: AbortSignal) => Promise<ReadonlySet<string>>

/** The workers mostly wait for lists of pods. Waiting workers share a list, so many workers need few lists. */
const CLAIM_WORKERS = 250
const VOLUME_WORKERS = 4

/** The options of the controller that protects claims in use. */
export interface ProtectionOptions {
  /** True if claims report since when no pod has used them, as in Kubernetes 1.37. */
  readonly recordsUnused: boolean
}

/** Keeps the finalizers that delay a deletion until the object is no longer in use. */
export function protectionControllers(
  deps: ControllerParts,
  { recordsUnused }: ProtectionOptions,
): readonly Controller[] {
  const { claims, pods, volumes } = deps.caches
  const live = liveUse(deps.client)
  const claimProtection: Controller = {
    ...baseController('claim', deps),
    workers: CLAIM_WORKERS,
    sources: [enqueueOn(claims, presentKey), enqueueOn(pods, claimsOfDeletedPod)],
    reconcile: (key, { signal }) => settledUnlessFailed(protectClaim(key, { ...deps, live }, signal), isOutdated),
  }
  const volumeProtection: Controller = {
    ...baseController('volume', deps),
    workers: VOLUME_WORKERS,
    sources: [enqueueOn(volumes, presentKey)],
    reconcile: (key, { signal }) => settledUnlessFailed(protectVolume(key, deps, signal), isOutdated),
  }
  const unusedCondition: Controller = {
    ...baseController('unused claim', deps),
    workers: VOLUME_WORKERS,
    sources: [enqueueOn(claims, presentKey), enqueueOn(pods, (event) => claimKeysOf(objectOf(event)))],
    reconcile: (key, { signal }) => settledUnlessFailed(recordUnused(key, deps, signal), isOutdated),
  }
  return recordsUnused ? [claimProtection, volumeProtection, unusedCondition] : [claimProtection, volumeProtection]
}

/** Returns the claims of a deleted pod, because it may have been their last user. */
function claimsOfDeletedPod(event: InformerEvent<CachedPod>): string[] {
  return event.type === 'deleted' ? claimKeysOf(event.object) : []
}

/** Reports whether a patch failed because the object is gone or has changed. A change enqueues the key again. */
function isOutdated(error: unknown): boolean {
  return isNotFound(error) || isInvalid(error)
}

async function recordUnused(key: string, deps: ControllerParts, signal: AbortSignal): Promise<void> {
  const { client, caches, clock } = deps
  const claim = caches.claims.store.get(key)
  const unused = claim && decideUnused(claim, caches.pods.store.byIndex(PODS_BY_CLAIM, key))
  if (claim === undefined || unused === undefined) return
  const patch = unusedPatch(claim, unused, clock.now())
  const options = { signal, subresource: 'status' }
  caches.claims.storeAnswer(await client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(key), patch, options))
}

interface ProtectParts extends ControllerParts {
  readonly live: LiveUse
}

async function protectClaim(key: string, deps: ProtectParts, signal: AbortSignal): Promise<void> {
  const { client, caches } = deps
  const claim = caches.claims.store.get(key)
  if (claim === undefined) return
  const step = decideClaimProtection(claim, caches.pods.store.byIndex(PODS_BY_CLAIM, key))
  if (step.kind === 'nothing') return
  // The cache may lack a pod that was just scheduled, so the API server decides.
  if (step.kind === 'release' && (await deps.live(claim.namespace, signal)).has(key)) return
  caches.claims.storeAnswer(await client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(key), step.patch, { signal }))
}

async function protectVolume(key: string, { client, caches }: ControllerParts, signal: AbortSignal): Promise<void> {
  const volume = caches.volumes.store.get(key)
  const step = volume === undefined ? undefined : decideVolumeProtection(volume)
  if (step === undefined || step.kind === 'nothing') return
  caches.volumes.storeAnswer(await client.patch(PERSISTENT_VOLUMES, { name: key }, step.patch, { signal }))
}

/** Shares lists of pods between callers, so that thousands of deleted claims need few lists. */
export function liveUse(client: Pick<KubeClient, 'list'>): LiveUse {
  return coalesced(async (namespace, signal) => {
    const usedClaims = new Set<string>()
    for await (const page of client.list(PODS, { namespace, project: claimsInUse, signal })) {
      for (const keys of page.items) {
        for (const key of keys) usedClaims.add(key)
      }
    }
    return usedClaims
  })
}

function claimsInUse(pod: Parameters<typeof podProjection>[0]): readonly string[] {
  const projected = podProjection(pod)
  return projected.nodeName === '' ? [] : claimKeysOf(projected)
}
