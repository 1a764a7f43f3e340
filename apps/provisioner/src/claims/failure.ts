import { messageOf } from '@csi-sidecars/base'
import type { Cause } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { ProvisionError } from '../request/failure.ts'

/** An answer of the driver that is no success, though the driver says so. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
  /** True if the volume may still exist: the call is repeated to remove it. */
  readonly mayExist: boolean

  constructor(message: string, { mayExist, cause }: { readonly mayExist: boolean; readonly cause?: unknown }) {
    super(message, { cause })
    this.mayExist = mayExist
  }
}

/** The consequences of a failed try. */
export interface Failure {
  readonly message: string
  /**
   * `unchanged`: no call was made, so an earlier creation is as before. `background`: the creation may be running.
   * `final`: it is not running. `reschedule`: it is not running, and another node may succeed.
   */
  readonly state: 'unchanged' | 'background' | 'final' | 'reschedule'
  /** The driver has answered, so that no creation is running for an earlier request either. */
  readonly answered: boolean
  /** The request cannot be met, however often it is repeated. */
  readonly infeasible: boolean
  readonly waitsFor: readonly Cause[]
  /** The wait that the driver asks for. */
  readonly retryAfterMs: number | undefined
}

/** `mayReschedule`: the driver has topology, and the scheduler has selected a node. */
export function failureOf(error: unknown, { mayReschedule }: { readonly mayReschedule: boolean }): Failure {
  const base: Failure = {
    message: messageOf(error),
    state: 'unchanged',
    answered: false,
    infeasible: false,
    waitsFor: [],
    retryAfterMs: undefined,
  }
  if (error instanceof ProvisionError) {
    return { ...base, waitsFor: error.waitsFor, state: error.reschedule ? 'reschedule' : 'unchanged' }
  }
  if (error instanceof AnswerError) return { ...base, state: error.mayExist ? 'background' : 'final', answered: true }
  if (!(error instanceof RpcError)) return base
  const { retryAfterMs = 0 } = error
  return {
    ...base,
    answered: true,
    state: stateOf(error, mayReschedule),
    infeasible: error.code === CODES.InvalidArgument && error.origin === 'driver',
    retryAfterMs: retryAfterMs > 0 ? retryAfterMs : undefined,
  }
}

const IN_BACKGROUND: ReadonlySet<number> = new Set([
  CODES.Canceled,
  CODES.DeadlineExceeded,
  CODES.Unavailable,
  CODES.Aborted,
])

/** An answer that could not be read says nothing about the creation. */
function stateOf({ code, origin }: RpcError, mayReschedule: boolean): Failure['state'] {
  if (origin === 'client' || origin === 'session' || IN_BACKGROUND.has(code)) return 'background'
  return code === CODES.ResourceExhausted && mayReschedule ? 'reschedule' : 'final'
}
