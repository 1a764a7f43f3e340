import { type CallFailure, callFailure } from '@csi-sidecars/controller'
import { isSecretDelayed } from '../claim/secret.ts'
import type { ModifyError } from './patches.ts'

/** The effect of a failed modification on the status of the claim, on `ModifyMemory` and on the retry. */
export interface ModifyFailure extends CallFailure {
  /** The error to write to the claim. Undefined unless it concerns the volume. */
  readonly statusError: ModifyError | undefined
  /** True if the failure is recorded as an event, not in the claim. */
  readonly isReported: boolean
}

/** Decides the effect of an error. No other code interprets errors of modifications. */
export function modifyFailure(error: unknown, driverLost: boolean): ModifyFailure {
  const failure = callFailure(error, { driverLost })
  const { status } = failure
  if (status === undefined) return { ...failure, statusError: undefined, isReported: !isSecretDelayed(error) }
  // After a disconnect, the retry waits until the driver is back.
  if (failure.mayStillRun && driverLost) return { ...failure, statusError: undefined, isReported: false }
  const statusError = { kind: kindOf(failure), reason: status.codeName, message: status.details }
  return { ...failure, statusError, isReported: true }
}

function kindOf({ infeasible, isFinal }: CallFailure): ModifyError['kind'] {
  if (infeasible.modify) return 'infeasible'
  return isFinal ? 'final' : 'uncertain'
}
