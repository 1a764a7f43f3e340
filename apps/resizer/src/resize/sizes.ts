import { messageOf } from '@csi-sidecars/base'
import { Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'

/** The four sizes that decide about an expansion. A missing size counts as zero, except for `allocated`. */
export interface Sizes {
  /** The size that the user requests. */
  readonly request: Quantity
  /** The capacity in the status of the claim. */
  readonly capacity: Quantity
  /** The capacity of the volume. */
  readonly volume: Quantity
  /** The last size that the driver was asked for. Undefined if there is none, or if CSI cannot express it. */
  readonly allocated: Quantity | undefined
}

export type ReadSizes = { readonly ok: true; readonly sizes: Sizes } | { readonly ok: false; readonly message: string }

const NOTHING = Quantity.parse('0')

/** The largest size that a CSI call can request, which is an int64. */
const MAX_SIZE = Quantity.ofBytes(2n ** 63n - 1n)

export function readSizes(claim: ResizerClaim, volume: ResizerVolume): ReadSizes {
  try {
    const sizes: Sizes = {
      request: sizeOf(claim.request, 'spec.resources.requests.storage of the claim') ?? NOTHING,
      capacity: sizeOf(claim.capacity, 'status.capacity.storage of the claim') ?? NOTHING,
      volume: sizeOf(volume.capacity, `spec.capacity.storage of PersistentVolume ${volume.key}`) ?? NOTHING,
      allocated: fit(sizeOf(claim.allocated, 'status.allocatedResources.storage of the claim')),
    }
    return { ok: true, sizes }
  } catch (error) {
    return { ok: false, message: messageOf(error) }
  }
}

/** Returns the size if a CSI call can request it. The Go resizer also records impossible sizes in claims. */
function fit(size: Quantity | undefined): Quantity | undefined {
  return size !== undefined && whyNoTarget(size) === undefined ? size : undefined
}

/** Returns the reason why no driver can be asked for this size. Undefined if the size is possible. */
export function whyNoTarget(target: Quantity): string | undefined {
  if (target.compare(MAX_SIZE) > 0) return `${target} is more than a CSI driver can be asked for`
  return target.sign() > 0 ? undefined : `${target} is no size to expand to`
}

function sizeOf(text: string | undefined, field: string): Quantity | undefined {
  if (text === undefined) return undefined
  let size: Quantity
  try {
    size = Quantity.parse(text)
  } catch (error) {
    throw new Error(`${field} is ${JSON.stringify(text)}: ${messageOf(error)}`, { cause: error })
  }
  if (size.sign() < 0) throw new Error(`${field} is ${text}, which is less than nothing`)
  return size
}
