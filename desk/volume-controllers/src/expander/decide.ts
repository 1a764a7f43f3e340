import { Quantity } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { PRE_RESIZE_CAPACITY } from '../caches/metadata.ts'
import type { Volume } from '../caches/volume.ts'

/** A claim and its volume, at one moment. */
export interface ExpandView {
  readonly claim: Claim
  readonly volume: Volume | undefined
}

export type ExpandStep =
  | { readonly kind: 'report'; readonly message: string }
  /** The volume is missing, or it is not bound to the claim. */
  | { readonly kind: 'fail'; readonly message: string }

/** Plans the event for a claim that an external controller must expand. Undefined if the claim needs no expansion. */
export function decideExpand({ claim, volume }: ExpandView): ExpandStep | undefined {
  if (volume === undefined) return { kind: 'fail', message: `there is no volume ${claim.volumeName} yet` }
  if (volume.claimRef?.uid !== claim.uid) {
    return { kind: 'fail', message: `persistent Volume is not bound to PVC being updated : ${claim.key}` }
  }
  if (!isMore(claim.request, claim.capacity ?? '0') && !(PRE_RESIZE_CAPACITY in volume.annotations)) return undefined
  return { kind: 'report', message: 'waiting for an external controller to expand this PVC' }
}

/** Reports whether the requested size or the capacity of a claim has grown. */
export function hasGrown(before: Claim, after: Claim): boolean {
  return isMore(after.request, before.request) || isMore(after.capacity ?? '0', before.capacity ?? '0')
}

function isMore(one: string, other: string): boolean {
  return Quantity.parse(one).compare(Quantity.parse(other)) > 0
}
