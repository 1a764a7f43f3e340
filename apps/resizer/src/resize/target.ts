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

/** The size to expand to, and the rule that has chosen it. */
export interface ResizeTarget {
  readonly rule: RuleName
  /** Undefined if no call and no write is necessary now. */
  readonly size: Quantity | undefined
}

type RuleName =
  | 'expandToRequest'
  | 'resumeExpansion'
  | 'awaitNodeBeforeRequest'
  | 'repeatSizeThatNodeRefused'
  | 'awaitNode'
  | 'repeatUnlessOnlyNodesExpand'
  | 'replaceRefusedSize'
  | 'saveExpansion'
  | 'continueToRecordedSize'
  | 'replaceEditedCapacity'
  | 'expandUnlessNodePending'

type State = Sizes & Progress

/** A rule of the decision table. Its `size` is undefined if only the kubelet has work left. */
interface Rule {
  readonly name: RuleName
  readonly when: (state: State) => boolean
  readonly size: (state: State) => Quantity | undefined
}

const { controllerInProgress, controllerInfeasible, nodePending, nodeInProgress, nodeInfeasible } = SIZE_STATUS

/** The rules for a volume that is smaller than the request. */
const VOLUME_TOO_SMALL: readonly Rule[] = [
  // The driver refused the recorded size for good, so the requested size replaces it.
  { name: 'replaceRefusedSize', when: hasStatus(controllerInfeasible), size: requested },
  // The driver may still be working on the recorded size.
  { name: 'resumeExpansion', when: hasStatus(controllerInProgress), size: recordedUnlessFailed },
  // If the driver has expanded the volume to the recorded size, only the kubelet has work left.
  {
    name: 'awaitNodeBeforeRequest',
    when: hasStatus(nodePending, nodeInProgress),
    size: (s) => (driverIsDone(s) ? undefined : recordedUnlessFailed(s)),
  },
  // The kubelet has refused the recorded size. The driver is asked for the same size once more.
  { name: 'repeatSizeThatNodeRefused', when: hasStatus(nodeInfeasible), size: recordedUnlessFailed },
]

/** The rule for a volume that is too small, if no expansion is recorded or its status is unknown. */
const OTHERWISE_TOO_SMALL: Omit<Rule, 'when'> = { name: 'expandToRequest', size: requested }

/**
 * The rules for a volume that is large enough although the claim does not show it. Either the result was not saved, or
 * the kubelet has failed. The Go resizer has other rules for refused sizes and for claims without a status.
 */
const VOLUME_LARGE_ENOUGH: readonly Rule[] = [
  // Only the kubelet has work left.
  { name: 'awaitNode', when: hasStatus(nodePending, nodeInProgress), size: () => undefined },
  // The kubelet has refused the recorded size. If only nodes expand volumes, the requested size replaces it at once.
  {
    name: 'repeatUnlessOnlyNodesExpand',
    when: hasStatus(nodeInfeasible),
    size: (s) => (s.driverExpands ? recordedUnlessFailed(s) : s.request),
  },
  // The driver has refused the recorded size, and the request is smaller. The Go resizer asks for the refused size.
  {
    name: 'replaceRefusedSize',
    when: (s) => hasStatus(controllerInfeasible)(s) && recordedExceeds(s, s.volume),
    size: requested,
  },
  // The driver is asked for the recorded size again, so that its result is saved.
  { name: 'saveExpansion', when: hasStatus(controllerInfeasible, controllerInProgress), size: recordedUnlessFailed },
  // The claim is smaller than the recorded size, so the expansion continues.
  {
    name: 'continueToRecordedSize',
    when: (s) => s.status === undefined && recordedExceeds(s, s.capacity),
    size: (s) => s.allocated,
  },
  // The claim has the recorded size, so an administrator has edited the capacity of the volume.
  {
    name: 'replaceEditedCapacity',
    when: (s) => s.status === undefined && s.allocated !== undefined,
    size: requested,
  },
]

/** The rule for all other claims, for example of a server without the field `status.allocatedResources`. */
const OTHERWISE_LARGE_ENOUGH: Omit<Rule, 'when'> = {
  name: 'expandUnlessNodePending',
  size: (s) => (s.nodeStepPending ? undefined : s.request),
}

/** Reports whether a rule applies only to claims of an old API server, which users should upgrade. */
export function isRuleOfOldServer(rule: ResizeTarget['rule']): boolean {
  return rule === OTHERWISE_LARGE_ENOUGH.name
}

/**
 * Returns the size to expand to, by the first rule that applies. An expansion that may still be running comes before a
 * newer request. An expansion that has certainly failed is ignored.
 */
export function targetOf(sizes: Sizes, progress: Progress): ResizeTarget {
  const state = { ...sizes, ...progress }
  const tooSmall = sizes.volume.compare(sizes.request) < 0
  const rules = tooSmall ? VOLUME_TOO_SMALL : VOLUME_LARGE_ENOUGH
  const otherwise = tooSmall ? OTHERWISE_TOO_SMALL : OTHERWISE_LARGE_ENOUGH
  const { name, size } = rules.find(({ when }) => when(state)) ?? otherwise
  return { rule: name, size: size(state) }
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
