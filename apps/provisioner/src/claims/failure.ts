import { messageOf } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { ProvisionError } from '../request/failure.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'

/** Thrown if CreateVolume succeeds with an unusable response, for example with a volume that is too small. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
  /** True if the volume may still exist at the driver. The creation then counts as unfinished and is repeated. */
  readonly mayExist: boolean

  constructor(message: string, { mayExist, cause }: { readonly mayExist: boolean; readonly cause?: unknown }) {
    super(message, { cause })
    this.mayExist = mayExist
  }
}

/** The consequences of a failed attempt to create a volume. */
export interface Failure {
  readonly message: string
  /**
   * `unchanged`: no call was sent, so an earlier creation may still be running. `background`: the creation may be
   * running. `final`: the creation has ended. `reschedule`: the creation has ended, and another node may succeed.
   */
  readonly state: 'unchanged' | 'background' | 'final' | 'reschedule'
  /** True if the driver was called in this attempt. The driver's answer also covers earlier calls for the volume. */
  readonly answered: boolean
  /** True if the driver refuses the request with InvalidArgument, so that a quick retry is useless. */
  readonly infeasible: boolean
  readonly waitsFor: readonly ClaimWakeEvent[]
  /** Milliseconds to wait before the retry, as requested by the driver. */
  readonly retryAfterMs: number | undefined
}

export interface TryOptions {
  /** True if another node could be selected for the claim. */
  readonly mayReschedule: boolean
  /** True if the outcome of an earlier call for the volume is unknown. */
  readonly isRepeated: boolean
}

/** Returns the consequences of an error. */
export function failureOf(error: unknown, options: TryOptions): Failure {
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
    state: stateOf(error, options),
    infeasible: error.code === CODES.InvalidArgument && error.origin === 'driver',
    retryAfterMs: retryAfterMs > 0 ? retryAfterMs : undefined,
  }
}

/** Reports whether the driver has a volume of this name for another request. */
export function isAlreadyExists(error: unknown): boolean {
  return error instanceof RpcError && error.origin === 'driver' && error.code === CODES.AlreadyExists
}

const IN_BACKGROUND: ReadonlySet<number> = new Set([
  CODES.Canceled,
  CODES.DeadlineExceeded,
  CODES.Unavailable,
  CODES.Aborted,
])

/** Returns the state of the creation. After a lost or unreadable answer, the creation may still be running. */
function stateOf({ code, origin }: RpcError, { mayReschedule, isRepeated }: TryOptions): Failure['state'] {
  if (origin === 'client' || origin === 'session' || IN_BACKGROUND.has(code)) return 'background'
  // The volume of the earlier call exists.
  if (isRepeated && code === CODES.AlreadyExists) return 'background'
  return code === CODES.ResourceExhausted && mayReschedule ? 'reschedule' : 'final'
}
