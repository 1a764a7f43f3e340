import { addFinalizerPatch, type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import { CLAIM_PROTECTION, VOLUME_PROTECTION } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import { type CachedPod, isTerminated } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'

interface Protected {
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
}

/** What protection asks for: its finalizer on everything, until the deletion of an object that is not in use. */
export type ProtectionStep =
  | { readonly do: 'nothing' }
  | { readonly do: 'protect'; readonly patch: Patch }
  /** For a claim, only once a live look finds no pod either. */
  | { readonly do: 'release'; readonly patch: Patch }

const NOTHING: ProtectionStep = { do: 'nothing' }

/** A claim is in use while a pod that was placed names it, ended or not: its node may still have it mounted. */
export function decideClaimProtection(claim: Claim, pods: readonly CachedPod[]): ProtectionStep {
  return decide(
    claim,
    CLAIM_PROTECTION,
    pods.some(({ nodeName }) => nodeName !== ''),
  )
}

/** Whether the condition Unused of a claim is to say something else than it does; undefined when it is not. */
export function decideUnused(claim: Claim, pods: readonly CachedPod[]): boolean | undefined {
  if (claim.deleting || claim.phase !== 'Bound') return undefined
  const unused = !pods.some((pod) => !isTerminated(pod) && usesClaim(pod, claim))
  return unused === claim.unused ? undefined : unused
}

/** A claim that another pod has created under the name of this pod's claim is not that pod's. */
function usesClaim({ volumes, uid }: CachedPod, { name, ownerUid }: Claim): boolean {
  return volumes.some(
    (volume) => volume.is === 'claim' && volume.claim === name && (!volume.ephemeral || ownerUid === uid),
  )
}

/** A volume is in use while it is bound. */
export function decideVolumeProtection(volume: Volume): ProtectionStep {
  return decide(volume, VOLUME_PROTECTION, volume.phase === 'Bound')
}

function decide({ deleting, finalizers }: Protected, finalizer: string, inUse: boolean): ProtectionStep {
  const has = finalizers?.includes(finalizer) === true
  if (!deleting) return has ? NOTHING : { do: 'protect', patch: addFinalizerPatch(finalizers, finalizer) }
  const patch = inUse ? undefined : removeFinalizerPatch(finalizers, finalizer)
  return patch === undefined ? NOTHING : { do: 'release', patch }
}
