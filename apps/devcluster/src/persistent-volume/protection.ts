import { addFinalizerPatch, type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import { CLAIM_PROTECTION, VOLUME_PROTECTION } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'

interface Protected {
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
}

/** What protection asks for: its finalizer on everything that lives, and off what is to go and is not in use. */
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
