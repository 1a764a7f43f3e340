import type { Quantity } from '@csi-sidecars/kube-types'
import { SIZE_STATUS } from '../caches/names.ts'
import type { Sizes } from './sizes.ts'

/** What the choice of a size depends on beside the sizes. */
export interface Progress {
  /** `status.allocatedResourceStatuses.storage`. */
  readonly status: string | undefined
  /** The last expansion that this process asked for has failed for good. */
  readonly finallyFailed: boolean
  /** The driver is called for expansions; false where only nodes expand. */
  readonly driverExpands: boolean
  /** Condition FileSystemResizePending is True. */
  readonly nodeStepPending: boolean
}

/** Where an expansion leads. The row of the decision table is for logs and tests. */
export type Target =
  | { readonly row: Row; readonly size: Quantity }
  /** Nothing to do now: no call, no write. */
  | { readonly row: Row; readonly size: undefined }

type Row = 'A1' | 'A2' | 'A3' | 'A4' | 'A5' | 'B1' | 'B2' | 'B3' | 'B3a' | 'B4' | 'B5'

/**
 * The size to expand to. While an earlier expansion may still be running, its size comes before a newer request;
 * one that has certainly failed is forgotten.
 */
export function targetOf(sizes: Sizes, progress: Progress): Target {
  return sizes.volume.compare(sizes.request) < 0 ? volumeTooSmall(sizes, progress) : volumeLargeEnough(sizes, progress)
}

function volumeTooSmall({ request, volume, allocated }: Sizes, { status, finallyFailed }: Progress): Target {
  const begun = allocated ?? request
  const first = finallyFailed ? request : begun
  switch (status) {
    case SIZE_STATUS.controllerInfeasible:
      return { row: 'A2', size: request }
    case SIZE_STATUS.controllerInProgress:
      return { row: 'A3', size: first }
    case SIZE_STATUS.nodePending:
    case SIZE_STATUS.nodeInProgress:
      // The driver has done its part of that expansion: it is kubelet's turn.
      return { row: 'A4', size: volume.compare(begun) >= 0 ? undefined : first }
    case SIZE_STATUS.nodeInfeasible:
      return { row: 'A5', size: first }
    default:
      return { row: 'A1', size: request }
  }
}

/**
 * The driver has expanded the volume, but the claim does not say so: the result was not saved, or kubelet has failed.
 * Two rows differ from the Go original. B3a: the original keeps asking for a size that was refused for good after the
 * user took it back. B4: the original resumes an expansion that is finished, and stops short of the request.
 */
function volumeLargeEnough({ request, capacity, volume, allocated }: Sizes, progress: Progress): Target {
  const first = progress.finallyFailed ? request : (allocated ?? request)
  switch (progress.status) {
    case SIZE_STATUS.nodePending:
    case SIZE_STATUS.nodeInProgress:
      return { row: 'B1', size: undefined }
    case SIZE_STATUS.nodeInfeasible:
      return { row: 'B2', size: progress.driverExpands ? first : request }
    case SIZE_STATUS.controllerInfeasible:
      // The size that was refused for good is larger than the volume, and is not wanted any more.
      if (allocated !== undefined && allocated.compare(volume) > 0) return { row: 'B3a', size: request }
      return { row: 'B3', size: first }
    case SIZE_STATUS.controllerInProgress:
      return { row: 'B3', size: first }
    default:
      if (progress.status === undefined && allocated !== undefined) {
        // What the claim has already is history: an administrator has edited the volume's capacity since.
        return { row: 'B4', size: allocated.compare(capacity) > 0 ? allocated : request }
      }
      // Only an API server that knows nothing of these fields leaves a claim like this.
      return { row: 'B5', size: progress.nodeStepPending ? undefined : request }
  }
}
