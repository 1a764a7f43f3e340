import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'

/** A pod and the claims of its ephemeral volumes. */
export interface EphemeralView {
  readonly pod: CachedPod
  /** Finds a claim by its name in the namespace of the pod. */
  readonly claim: (name: string) => Claim | undefined
}

export type EphemeralStep =
  /** Creates the claim of one volume from the template in the pod. */
  | { readonly kind: 'create'; readonly volume: string; readonly claim: string }
  | { readonly kind: 'fail'; readonly volume: string; readonly message: string }

/** Returns the claims to create. The plan ends with a failure at the first claim of another owner. */
export function decideEphemeral({ pod, claim }: EphemeralView): readonly EphemeralStep[] {
  const steps: EphemeralStep[] = []
  if (pod.deleting) return steps
  for (const volume of pod.volumes) {
    if (volume.kind !== 'claim' || !volume.ephemeral) continue
    const present = claim(volume.claim)
    if (present === undefined) steps.push({ kind: 'create', volume: volume.name, claim: volume.claim })
    else if (present.ownerUid !== pod.uid) {
      const message = `PVC ${present.key} was not created for pod ${pod.key} (pod is not owner)`
      return [...steps, { kind: 'fail', volume: volume.name, message }]
    }
  }
  return steps
}

/** Reports whether the pod that owns the claim is gone. `present` is the UID of the current pod of the same name. */
export function isOrphan(claim: Claim, present: string | undefined): boolean {
  return claim.ownerPod !== undefined && !claim.deleting && present !== claim.ownerUid
}
