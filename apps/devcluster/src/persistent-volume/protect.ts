import { keysOf, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { isInvalid, isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { PODS_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import { type CachedPod, claimKeysOf } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import { type ControllerParts, type Life, refOf, runWorks } from '../control.ts'
import { type LiveUse, liveUse } from './live-use.ts'
import { unusedPatch } from './patches.ts'
import { decideClaimProtection, decideUnused, decideVolumeProtection } from './protection.ts'

/** Nearly all of their time they wait for a look at all pods, which they share: many cost fewer looks than few. */
const CLAIM_WORKERS = 250
const VOLUME_WORKERS = 4

export interface ProtectionOptions {
  /** Claims tell since when no pod has used them, as from Kubernetes 1.37 on. */
  readonly tellsUnused: boolean
}

/** Keeps the finalizers that stand between a deletion and those who still use the object. */
export async function runProtection(
  parts: ControllerParts,
  life: Life,
  { tellsUnused }: ProtectionOptions,
): Promise<void> {
  const { caches } = parts
  const claimParts = { ...parts, live: liveUse(parts.client) }
  const works = [
    {
      of: 'claim',
      workers: CLAIM_WORKERS,
      sources: [keysOf(caches.claims, keyOf<Claim>), keysOf(caches.pods, claimsOfPod)],
      reconcile: (key: string, { signal }: Run) => protectClaim(key, claimParts, signal),
    },
    {
      of: 'volume',
      workers: VOLUME_WORKERS,
      sources: [keysOf(caches.volumes, keyOf<Volume>)],
      reconcile: (key: string, { signal }: Run) => protectVolume(key, parts, signal),
    },
  ]
  const telling = {
    of: 'unused claim',
    workers: VOLUME_WORKERS,
    sources: [keysOf(caches.claims, keyOf<Claim>), keysOf(caches.pods, claimsOfAnyPod)],
    reconcile: (key: string, { signal }: Run) => tellUnused(key, parts, signal),
  }
  await runWorks(tellsUnused ? [...works, telling] : works, parts, life)
}

/** A pod that came, changed or went may be the first or the last to use its claims. */
function claimsOfAnyPod(event: InformerEvent<CachedPod>): string[] {
  return claimKeysOf(event.type === 'updated' ? event.after : event.object)
}

async function tellUnused(key: string, parts: ControllerParts, signal: AbortSignal): Promise<Outcome> {
  const { client, caches, clock } = parts
  const claim = caches.claims.store.get(key)
  const unused = claim && decideUnused(claim, caches.pods.store.byIndex(PODS_BY_CLAIM, key))
  if (claim === undefined || unused === undefined) return SETTLED
  try {
    const patch = unusedPatch(claim, unused, clock.now())
    const options = { signal, subresource: 'status' }
    caches.claims.learn(await client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(key), patch, options))
    return SETTLED
  } catch (error) {
    return settledUnlessFailed(error)
  }
}

function keyOf<T extends { readonly key: string }>(event: InformerEvent<T>): string[] {
  if (event.type === 'deleted') return []
  return [event.type === 'updated' ? event.after.key : event.object.key]
}

/** A pod that went may have been the last to use its claims. */
function claimsOfPod(event: InformerEvent<CachedPod>): string[] {
  return event.type === 'deleted' ? claimKeysOf(event.object) : []
}

export interface ProtectParts extends ControllerParts {
  readonly live: LiveUse
}

export async function protectClaim(key: string, parts: ProtectParts, signal: AbortSignal): Promise<Outcome> {
  const { client, caches } = parts
  const claim = caches.claims.store.get(key)
  if (claim === undefined) return SETTLED
  const step = decideClaimProtection(claim, caches.pods.store.byIndex(PODS_BY_CLAIM, key))
  if (step.do === 'nothing') return SETTLED
  try {
    // The cache may lack a pod that was placed a moment ago: the API has the last word.
    if (step.do === 'release' && (await parts.live(claim.namespace, signal)).has(key)) return SETTLED
    caches.claims.learn(await client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(key), step.patch, { signal }))
    return SETTLED
  } catch (error) {
    return settledUnlessFailed(error)
  }
}

export async function protectVolume(key: string, parts: ControllerParts, signal: AbortSignal): Promise<Outcome> {
  const volume = parts.caches.volumes.store.get(key)
  const step = volume === undefined ? undefined : decideVolumeProtection(volume)
  if (step === undefined || step.do === 'nothing') return SETTLED
  try {
    const { client, caches } = parts
    caches.volumes.learn(await client.patch(PERSISTENT_VOLUMES, { name: key }, step.patch, { signal }))
    return SETTLED
  } catch (error) {
    return settledUnlessFailed(error)
  }
}

/** A finalizer list that changed meanwhile refuses the patch; its event brings the key back. */
function settledUnlessFailed(error: unknown): Outcome {
  return isNotFound(error) || isInvalid(error) ? SETTLED : { kind: 'retry', cause: error }
}
