import { Quantity } from '@csi-sidecars/kube-types'
import { PRE_RESIZE_CAPACITY, STORAGE_RESIZER } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'

/** A claim and its volume, at one moment. */
export interface ExpandView {
  readonly claim: Claim
  readonly volume: Volume | undefined
}

export type ExpandStep =
  | { readonly do: 'report'; readonly message: string }
  /** For a driver that has taken over for a plugin: the claim says so to its resizer. */
  | { readonly do: 'nameResizer'; readonly driver: string }
  /** The two are not bound to each other, or not yet. */
  | { readonly do: 'fail'; readonly message: string }

/** Kubernetes itself expands nothing any more: it says who is waited for. */
export function decideExpand({ claim, volume }: ExpandView): readonly ExpandStep[] {
  if (volume === undefined) return [{ do: 'fail', message: `there is no volume ${claim.volumeName} yet` }]
  if (volume.claimRef?.uid !== claim.uid) {
    return [{ do: 'fail', message: `persistent Volume is not bound to PVC being updated : ${claim.key}` }]
  }
  if (!wantsMore(claim) && !(PRE_RESIZE_CAPACITY in volume.annotations)) return []
  const { inTree } = volume
  if (inTree?.is !== 'migrated')
    return [{ do: 'report', message: 'waiting for an external controller to expand this PVC' }]
  const { plugin, csi } = inTree
  const message = `CSI migration enabled for ${plugin}; waiting for external resizer to expand the pvc`
  const named = claim.annotations[STORAGE_RESIZER] === csi.driver
  return [{ do: 'report', message }, ...(named ? [] : [{ do: 'nameResizer' as const, driver: csi.driver }])]
}

function wantsMore({ request, capacity = '0' }: Claim): boolean {
  return isMore(request, capacity)
}

/** Whether a change of a claim is a cause to look: only what has grown is. */
export function hasGrown(before: Claim, after: Claim): boolean {
  return isMore(after.request, before.request) || isMore(after.capacity ?? '0', before.capacity ?? '0')
}

function isMore(one: string, other: string): boolean {
  return Quantity.parse(one).compare(Quantity.parse(other)) > 0
}
