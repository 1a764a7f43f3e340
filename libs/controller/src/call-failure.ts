import { messageOf } from '@csi-sidecars/base'
import { type CallVerdict, type CodeName, classify, RpcError } from '@csi-sidecars/csi'
import { requestedPauseMs } from './failure.ts'

/**
 * The meaning of a failed attempt that calls the driver: what the driver may still do, and when to call it again.
 *
 * Guarantees: an operation that may still run is never final. A code is final only if the CSI specification guarantees
 * that the driver has stopped.
 *
 * Caveats: an error before the call, for example of a Secret that cannot be read, is neither final nor may its operation
 * run. It says nothing about earlier calls. A wrapped error is such an error, too: pass the error of the call itself.
 *
 * Errors: `callFailure` never throws, whatever was thrown before.
 */
export interface CallFailure {
  readonly message: string
  /** The status of the call, from the driver or from its connection. Undefined if no call has failed. */
  readonly status: RpcError | undefined
  /** True if the operation has failed and the driver no longer works on it. */
  readonly isFinal: boolean
  /** True if the driver may still work on the operation. */
  readonly mayStillRun: boolean
  /** True if the same request can never succeed, for an expansion and for a modification. Implies `isFinal`. */
  readonly infeasible: CallVerdict['infeasible']
  /** True if the driver refuses to expand a volume in use. Implies `isFinal`. */
  readonly isInUse: boolean
  /** True if the driver is disconnected, which may be the only reason. */
  readonly driverLost: boolean
  /**
   * The milliseconds that the driver or the API server asks to wait. 0: no wait, so the usual back-off applies.
   * `runTerm` honours the pause by itself, if the cause of the outcome contains the error.
   */
  readonly pauseMs: number
}

/** The facts that a caller knows about a failed call. */
export interface CallFailureOptions {
  /** True if the driver is disconnected now. Default: false. */
  readonly driverLost?: boolean
  /** The codes with which the driver also ends this call, in addition to those of all calls. Default: none. */
  readonly finalCodes?: readonly CodeName[]
}

const NOTHING_CALLED = {
  isFinal: false,
  mayStillRun: false,
  infeasible: { expand: false, modify: false },
  isInUse: false,
}

/** Returns the meaning of a failed attempt that calls the driver. Never throws. */
export function callFailure(
  thrown: unknown,
  { driverLost = false, finalCodes = [] }: CallFailureOptions = {},
): CallFailure {
  const base = { message: messageOf(thrown), driverLost, pauseMs: Math.max(0, requestedPauseMs(thrown) ?? 0) }
  if (!(thrown instanceof RpcError)) return { ...base, ...NOTHING_CALLED, status: undefined }
  const { final, infeasible, inUse } = classify(thrown)
  const isFinal = final || (thrown.origin === 'driver' && finalCodes.some((name) => name === thrown.codeName))
  return { ...base, status: thrown, isFinal, mayStillRun: !isFinal, infeasible, isInUse: inUse }
}
