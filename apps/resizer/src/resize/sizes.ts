import { messageOf } from '@csi-sidecars/base'
import { Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'

/** The four sizes that decide about an expansion. What is missing counts as nothing, but for `allocated`. */
export interface Sizes {
  /** The size that the user requests. */
  readonly request: Quantity
  /** What the claim has. */
  readonly capacity: Quantity
  /** What the volume has. */
  readonly volume: Quantity
  /** The last size that the driver was asked for. A size that CSI cannot express counts as missing. */
  readonly allocated: Quantity | undefined
}

export type ReadSizes = { readonly ok: true; readonly sizes: Sizes } | { readonly ok: false; readonly message: string }

const NOTHING = Quantity.parse('0')

/** A size that the driver can be asked for travels in an int64. */
const LARGEST = Quantity.ofBytes(2n ** 63n - 1n)

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

/** The Go original begins what no driver can be asked for, and says so in the claim; the user's next request follows then. */
function fit(size: Quantity | undefined): Quantity | undefined {
  return size !== undefined && whyNoTarget(size) === undefined ? size : undefined
}

/** Why the driver cannot be asked for this much; undefined when it can. */
export function whyNoTarget(target: Quantity): string | undefined {
  if (target.compare(LARGEST) > 0) return `${target} is more than a CSI driver can be asked for`
  return target.sign() > 0 ? undefined : `${target} is no size to expand to`
}

function sizeOf(text: string | undefined, what: string): Quantity | undefined {
  if (text === undefined) return undefined
  let size: Quantity
  try {
    size = Quantity.parse(text)
  } catch (error) {
    throw new Error(`${what} is ${JSON.stringify(text)}: ${messageOf(error)}`, { cause: error })
  }
  if (size.sign() < 0) throw new Error(`${what} is ${text}, which is less than nothing`)
  return size
}
