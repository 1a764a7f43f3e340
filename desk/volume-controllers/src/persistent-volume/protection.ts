import { addFinalizerPatch, type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { CLAIM_PROTECTION, VOLUME_PROTECTION } from '../caches/metadata.ts'
import { type CachedPod, isTerminated } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'

interface Protected {
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
}

/** The next step of the protection. Every object keeps the finalizer until it is deleted and not in use. */
export type ProtectionStep =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'protect'; readonly patch: Patch }
  /** Removes the finalizer. For a claim, a live list must first confirm that no pod uses it. */
  | { readonly kind: 'release'; readonly patch: Patch }

const NOTHING: ProtectionStep = { kind: 'nothing' }

/**
 * Plans the protection of a claim. Scheduled pods count even if they have ended, because their node may still have the
 * volume mounted.
 */
export function decideClaimProtection(claim: Claim, pods: readonly CachedPod[]): ProtectionStep {
  return decide(
    claim,
    CLAIM_PROTECTION,
    pods.some(({ nodeName }) => nodeName !== ''),
  )
}

/** Returns the new status of the condition `Unused`, or undefined if it does not change. */
export function decideUnused(claim: Claim, pods: readonly CachedPod[]): boolean | undefined {
  if (claim.deleting || claim.phase !== 'Bound') return undefined
  const unused = !pods.some((pod) => !isTerminated(pod) && usesClaim(pod, claim))
  return unused === claim.unused ? undefined : unused
}

/** Reports whether a pod uses a claim. For an ephemeral volume, the pod must own the claim. */
function usesClaim({ volumes, uid }: CachedPod, { name, ownerUid }: Claim): boolean {
  return volumes.some(
    (volume) => volume.kind === 'claim' && volume.claim === name && (!volume.ephemeral || ownerUid === uid),
  )
}

/** Plans the protection of a volume, which is in use while it is bound. */
export function decideVolumeProtection(volume: Volume): ProtectionStep {
  return decide(volume, VOLUME_PROTECTION, volume.phase === 'Bound')
}

function decide({ deleting, finalizers }: Protected, finalizer: string, inUse: boolean): ProtectionStep {
  const has = finalizers?.includes(finalizer) === true
  if (!deleting) return has ? NOTHING : { kind: 'protect', patch: addFinalizerPatch(finalizers, finalizer) }
  const patch = inUse ? undefined : removeFinalizerPatch(finalizers, finalizer)
  return patch === undefined ? NOTHING : { kind: 'release', patch }
}
