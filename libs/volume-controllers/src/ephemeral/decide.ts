import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'

/** A pod and the claims that are or should be its own. */
export interface EphemeralView {
  readonly pod: CachedPod
  /** Of a name in the pod's namespace. */
  readonly claim: (name: string) => Claim | undefined
}

export type EphemeralStep =
  /** The claim of one volume, by the template that the pod has for it. */
  | { readonly do: 'create'; readonly volume: string; readonly claim: string }
  | { readonly do: 'fail'; readonly volume: string; readonly message: string }

/** The claims that the pod still needs. At the first that belongs to another owner nothing more is created. */
export function decideEphemeral({ pod, claim }: EphemeralView): readonly EphemeralStep[] {
  const steps: EphemeralStep[] = []
  if (pod.deleting) return steps
  for (const volume of pod.volumes) {
    if (volume.is !== 'claim' || !volume.ephemeral) continue
    const present = claim(volume.claim)
    if (present === undefined) steps.push({ do: 'create', volume: volume.name, claim: volume.claim })
    else if (present.ownerUid !== pod.uid) {
      const message = `PVC ${present.key} was not created for pod ${pod.key} (pod is not owner)`
      return [...steps, { do: 'fail', volume: volume.name, message }]
    }
  }
  return steps
}

/** Whether the pod that the claim belongs to is gone; `present` is the uid of the pod of its name that there is now. */
export function isOrphan(claim: Claim, present: string | undefined): boolean {
  return claim.ownerPod !== undefined && !claim.deleting && present !== claim.ownerUid
}
