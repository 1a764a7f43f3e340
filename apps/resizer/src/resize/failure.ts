import { type CallFailure, callFailure } from '@csi-sidecars/controller'
import type { Quantity } from '@csi-sidecars/kube-types'
import { isSecretDelayed } from '../claim/secret.ts'

/** The effect of a failed expansion on the status of the claim, on `ResizeMemory` and on the retry. */
export interface ExpandFailure extends CallFailure {
  /**
   * `infeasible`: the driver can never do this expansion. `final`: the expansion has failed and is not running.
   * `uncertain`: an expansion may be running, from this try or from an earlier try.
   */
  readonly kind: 'infeasible' | 'final' | 'uncertain'
  /** True if the failure is recorded as an event. */
  readonly isReported: boolean
}

/** The driver reports success with a too small size. This failure is final: the driver does not continue to work. */
export class ExpandAnswerError extends Error {
  override readonly name = 'ExpandAnswerError'

  constructor(answered: Quantity, required: Quantity) {
    super(`the driver answered a size of ${answered} where at least ${required} was asked for`)
  }
}

/**
 * Decides the effect of an error. Each failure causes an event, except if the driver has disconnected or the API server
 * asks to retry later.
 */
export function expandFailure(error: unknown, driverLost: boolean): ExpandFailure {
  const failure = callFailure(error, { driverLost })
  const isLost = failure.mayStillRun && driverLost
  return { ...failure, kind: kindOf(error, failure), isReported: !isLost && !isSecretDelayed(error) }
}

function kindOf(error: unknown, { infeasible, isFinal }: CallFailure): ExpandFailure['kind'] {
  if (infeasible.expand) return 'infeasible'
  return isFinal || error instanceof ExpandAnswerError ? 'final' : 'uncertain'
}
