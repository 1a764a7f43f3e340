import { endPlan, next, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import type { ClaimWakeEvent } from '../request/wake-events.ts'
import type { CreationFailure } from './failure.ts'

/** A failed attempt to create a volume, and all facts that decide its consequences. */
export interface FailureView {
  readonly failure: CreationFailure
  /** The name of the StorageClass. */
  readonly className: string
  /** True if a volume populator creates the volume, and not this provisioner. */
  readonly isPopulated: boolean
  /** True if the driver has created the volume for another request. */
  readonly isOtherRequest: boolean
  /** True if the attempt fails before the call until a user changes an object. */
  readonly isLasting: boolean
  /** True if the driver is disconnected. */
  readonly driverLost: boolean
  /** True if a node is selected for the claim. */
  readonly hasSelectedNode: boolean
}

export type FailureStep =
  /** Leaves the claim to the volume populator. */
  | { readonly kind: 'ignore' }
  /** Waits for the events that may end the cause. */
  | { readonly kind: 'wait'; readonly waitsFor: readonly ClaimWakeEvent[] }
  /** Logs the failure and records an event. */
  | { readonly kind: 'report' }
  /** Asks the driver for its capacity, because a call was sent. */
  | { readonly kind: 'refreshCapacity' }
  /** Forgets the request, so that the next try follows the class. */
  | { readonly kind: 'forgetRequest' }
  /** Gives up the creation of a deleted claim, which ends the run. Nothing, if it is not to be given up now. */
  | { readonly kind: 'giveUp' }
  /** Remembers that no call for the claim may be running. */
  | { readonly kind: 'endCreation' }
  /**
   * Removes our finalizer from the claim if `isEnded` is true, and the selected node if `reschedules` is true. Ends the run
   * if the claim is gone or the write fails.
   */
  | { readonly kind: 'release'; readonly isEnded: boolean; readonly reschedules: boolean }
  /** Retries after the back-off. */
  | { readonly kind: 'retry' }
  /** Retries at once, because the scheduler may select another node. */
  | { readonly kind: 'reschedule' }
  /** Retries after `--retry-interval-max`, or when the class is replaced. */
  | { readonly kind: 'pause'; readonly waitsFor: ClaimWakeEvent }

type Result = PlanCheckResult<FailureStep>

/** The checks of a failed attempt. Its report comes first, because the later steps may end the run. */
const FAILURE_CHECKS: readonly PlanCheck<FailureView, FailureStep>[] = [
  isPopulated, // Leaves the claim to its volume populator.
  hasCause, // Waits for the objects that may be the cause.
  concernsVolume, // Reports the failure, unless the driver left during its call.
  callWasSent, // Refreshes the capacity.
  isOtherRequest, // Forgets the request, because the driver has the volume of another one.
  cannotBeRepeated, // Gives up the creation if the claim is deleted: its finalizer would keep the claim forever.
  mayStillRun, // Retries with the same request. Without a call, an earlier one may still be running.
  callHasEnded, // Remembers the end of the creation.
  claimMustBeReleased, // Removes our finalizer and the selected node from the claim.
  otherNodeMaySucceed, // Retries at once.
  isInfeasible, // Retries late, because the driver refuses this request.
  hasFailed, // Retries.
]

/** Returns the steps after a failed attempt, in their order. */
export function decideFailure(view: FailureView): readonly FailureStep[] {
  return planOf(FAILURE_CHECKS, view)
}

function isPopulated(view: FailureView): Result {
  return view.isPopulated ? endPlan({ kind: 'ignore' }) : undefined
}

/** Before the call, the class may be the cause: users correct it by deleting and recreating it. */
function hasCause({ failure, className }: FailureView): Result {
  const classes = failure.state === 'unchanged' ? [classEvent(className)] : []
  return next({ kind: 'wait', waitsFor: [...failure.waitsFor, ...classes] })
}

function concernsVolume({ failure, driverLost }: FailureView): Result {
  return failure.state === 'background' && driverLost ? undefined : next({ kind: 'report' })
}

function callWasSent({ failure }: FailureView): Result {
  return failure.state === 'unchanged' ? undefined : next({ kind: 'refreshCapacity' })
}

function isOtherRequest({ isOtherRequest: isOther, className }: FailureView): Result {
  if (!isOther) return undefined
  // A class with its earlier parameters leads to the request that the driver knows.
  return next({ kind: 'forgetRequest' }, { kind: 'wait', waitsFor: [classEvent(className)] })
}

function cannotBeRepeated({ failure, isOtherRequest: isOther, isLasting }: FailureView): Result {
  return isOther || (!failure.isAnswered && isLasting) ? next({ kind: 'giveUp' }) : undefined
}

function mayStillRun({ failure: { state } }: FailureView): Result {
  return state === 'background' || state === 'unchanged' ? endPlan({ kind: 'retry' }) : undefined
}

function callHasEnded({ failure }: FailureView): Result {
  return failure.isAnswered ? next({ kind: 'endCreation' }) : undefined
}

function claimMustBeReleased(view: FailureView): Result {
  return next({ kind: 'release', isEnded: view.failure.isAnswered, reschedules: reschedules(view) })
}

function otherNodeMaySucceed(view: FailureView): Result {
  return reschedules(view) ? endPlan({ kind: 'reschedule' }) : undefined
}

function isInfeasible({ failure, className }: FailureView): Result {
  return failure.isInfeasible ? endPlan({ kind: 'pause', waitsFor: classEvent(className) }) : undefined
}

function hasFailed(): Result {
  return endPlan({ kind: 'retry' })
}

function reschedules({ failure, hasSelectedNode }: FailureView): boolean {
  return failure.state === 'reschedule' && hasSelectedNode
}

function classEvent(name: string): ClaimWakeEvent<'class'> {
  return { kind: 'class', name }
}
