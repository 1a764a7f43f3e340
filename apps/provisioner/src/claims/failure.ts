import { callFailure } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { ProvisionError } from '../request/failure.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'

/** The consequences of a failed attempt to create a volume. */
export interface CreationFailure {
  readonly message: string
  /**
   * `unchanged`: no call was sent, so an earlier creation may still be running. `background`: the creation may be
   * running. `final`: the creation has ended. `reschedule`: the creation has ended, and another node may succeed.
   */
  readonly state: 'unchanged' | 'background' | 'final' | 'reschedule'
  /** True if the driver was called in this attempt. The driver's answer also covers earlier calls for the volume. */
  readonly isAnswered: boolean
  /** True after InvalidArgument: a quick retry is useless. */
  readonly isInfeasible: boolean
  readonly waitsFor: readonly ClaimWakeEvent[]
}

/** The facts by which a failed try of CreateVolume is judged. */
export interface AttemptOptions {
  /** True if another node could be selected for the claim. */
  readonly mayReschedule: boolean
  /** True if the outcome of an earlier call for the volume is unknown. */
  readonly isRepeated: boolean
}

/** Thrown if CreateVolume succeeds with an unusable response, for example with a volume that is too small. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
  /** True if the volume may still exist in the back end. The creation then counts as unfinished and is repeated. */
  readonly mayVolumeExist: boolean

  constructor(
    message: string,
    { mayVolumeExist, cause }: { readonly mayVolumeExist: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause })
    this.mayVolumeExist = mayVolumeExist
  }
}

/** Returns the consequences of an error. */
export function creationFailure(error: unknown, options: AttemptOptions): CreationFailure {
  // A driver without room answers CreateVolume with ResourceExhausted, and no longer works on the volume.
  const { message, status, mayStillRun } = callFailure(error, { finalCodes: ['ResourceExhausted'] })
  const base = { message, isAnswered: false, isInfeasible: false, waitsFor: [] }
  if (error instanceof ProvisionError) {
    return { ...base, waitsFor: error.waitsFor, state: error.reschedule ? 'reschedule' : 'unchanged' }
  }
  if (error instanceof AnswerError)
    return { ...base, state: error.mayVolumeExist ? 'background' : 'final', isAnswered: true }
  if (status === undefined) return { ...base, state: 'unchanged' }
  const isInfeasible = status.code === CODES.InvalidArgument && status.origin === 'driver'
  return { ...base, isAnswered: true, isInfeasible, state: mayStillRun ? 'background' : stateAfterEnd(status, options) }
}

/** Reports whether the driver has a volume of this name for another request. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof RpcError && error.origin === 'driver' && error.code === CODES.AlreadyExists
}

/** Returns the state of a creation after the driver has ended the call with an error. */
function stateAfterEnd({ code }: RpcError, { mayReschedule, isRepeated }: AttemptOptions): CreationFailure['state'] {
  // The earlier call has created the volume. `final` would forget it.
  if (isRepeated && code === CODES.AlreadyExists) return 'background'
  return code === CODES.ResourceExhausted && mayReschedule ? 'reschedule' : 'final'
}
