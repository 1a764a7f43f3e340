import type { Quantity } from '@csi-sidecars/kube-types'
import { SIZE_STATUS } from '../caches/names.ts'
import type { Sizes } from './sizes.ts'

/** The state that decides about the size to expand to, in addition to the sizes. */
export interface Progress {
  /** The progress of the expansion: `status.allocatedResourceStatuses.storage`. */
  readonly status: string | undefined
  /** True if the last expansion that this process asked for has failed for good. */
  readonly finallyFailed: boolean
  /** True if the driver is called for expansions. False if only nodes expand volumes. */
  readonly driverExpands: boolean
  /** True if the condition FileSystemResizePending is True. */
  readonly nodeStepPending: boolean
}

/** The size to expand to, and the row of the decision table that applies. */
export interface ResizeTarget {
  readonly row: Row
  /** Undefined if no call and no write is necessary now. */
  readonly size: Quantity | undefined
}

type Row = 'A1' | 'A2' | 'A3' | 'A4' | 'A5' | 'B1' | 'B2' | 'B3' | 'B3a' | 'B4' | 'B5'

type State = Sizes & Progress

/** One row of the decision table. Its `size` is undefined if only the kubelet has work left. */
interface Rule {
  readonly row: Row
  readonly when: (state: State) => boolean
  readonly size: (state: State) => Quantity | undefined
}

const { controllerInProgress, controllerInfeasible, nodePending, nodeInProgress, nodeInfeasible } = SIZE_STATUS

/** The rows of the decision table if the volume is smaller than the request. */
const VOLUME_TOO_SMALL: readonly Rule[] = [
  // The driver refused the recorded size for good, so the requested size replaces it.
  { row: 'A2', when: hasStatus(controllerInfeasible), size: requested },
  // The driver may still be working on the recorded size.
  { row: 'A3', when: hasStatus(controllerInProgress), size: recordedUnlessFailed },
  // If the driver has expanded the volume to the recorded size, only the kubelet has work left.
  {
    row: 'A4',
    when: hasStatus(nodePending, nodeInProgress),
    size: (s) => (driverIsDone(s) ? undefined : recordedUnlessFailed(s)),
  },
  // The kubelet has refused the recorded size. The driver is asked for the same size once more.
  { row: 'A5', when: hasStatus(nodeInfeasible), size: recordedUnlessFailed },
]

/** The row for a volume that is too small, if no expansion is recorded or its status is unknown. */
const OTHERWISE_TOO_SMALL: Omit<Rule, 'when'> = { row: 'A1', size: requested }

/**
 * The rows of the decision table for a volume that is large enough although the claim does not show it. Either the
 * result was not saved, or the kubelet has failed. Rows B3a and B4 differ from the Go resizer.
 */
const VOLUME_LARGE_ENOUGH: readonly Rule[] = [
  // Only the kubelet has work left.
  { row: 'B1', when: hasStatus(nodePending, nodeInProgress), size: () => undefined },
  // The kubelet has refused the recorded size. If only nodes expand volumes, the requested size replaces it at once.
  { row: 'B2', when: hasStatus(nodeInfeasible), size: (s) => (s.driverExpands ? recordedUnlessFailed(s) : s.request) },
  // The driver has refused the recorded size, and the request is smaller. The Go resizer asks for the refused size.
  { row: 'B3a', when: (s) => hasStatus(controllerInfeasible)(s) && recordedExceeds(s, s.volume), size: requested },
  // The driver is asked for the recorded size again, so that its result is saved.
  { row: 'B3', when: hasStatus(controllerInfeasible, controllerInProgress), size: recordedUnlessFailed },
  // The claim is smaller than the recorded size, so the expansion continues.
  { row: 'B4', when: (s) => s.status === undefined && recordedExceeds(s, s.capacity), size: (s) => s.allocated },
  // The claim has the recorded size, so an administrator has edited the capacity of the volume.
  { row: 'B4', when: (s) => s.status === undefined && s.allocated !== undefined, size: requested },
]

/** The row for all other claims, for example of an API server without the field `status.allocatedResources`. */
const OTHERWISE_LARGE_ENOUGH: Omit<Rule, 'when'> = {
  row: 'B5',
  size: (s) => (s.nodeStepPending ? undefined : s.request),
}

/** Reports whether a row applies only to claims of an old API server, which users should upgrade. */
export function isRowOfOldServer(row: ResizeTarget['row']): boolean {
  return row === OTHERWISE_LARGE_ENOUGH.row
}

/**
 * Returns the size to expand to, by the first row that applies. An expansion that may still be running comes before a
 * newer request. An expansion that has certainly failed is ignored.
 */
export function targetOf(sizes: Sizes, progress: Progress): ResizeTarget {
  const state = { ...sizes, ...progress }
  const tooSmall = sizes.volume.compare(sizes.request) < 0
  const rules = tooSmall ? VOLUME_TOO_SMALL : VOLUME_LARGE_ENOUGH
  const otherwise = tooSmall ? OTHERWISE_TOO_SMALL : OTHERWISE_LARGE_ENOUGH
  const { row, size } = rules.find(({ when }) => when(state)) ?? otherwise
  return { row, size: size(state) }
}

function hasStatus(...statuses: readonly (string | undefined)[]): (state: State) => boolean {
  return ({ status }) => statuses.includes(status)
}

function requested({ request }: State): Quantity {
  return request
}

function recordedUnlessFailed({ request, allocated, finallyFailed }: State): Quantity {
  return finallyFailed ? request : (allocated ?? request)
}

function driverIsDone({ request, volume, allocated }: State): boolean {
  return volume.compare(allocated ?? request) >= 0
}

function recordedExceeds({ allocated }: State, size: Quantity): boolean {
  return allocated !== undefined && allocated.compare(size) > 0
}
