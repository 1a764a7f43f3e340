import type { Clock } from '@csi-sidecars/base'
import { CODES, type Driver, RpcError } from '@csi-sidecars/csi'
import type { UnaryMethod } from '@csi-sidecars/csi-proto'
import { methodOf, type ProxiedCall } from '@csi-sidecars/disturb'

/** The end of a call that the test sends itself. */
export interface Reply<R> {
  /** The gRPC code. */
  readonly code: number
  readonly message: string
  /** The answer of the driver. Undefined if the call failed. */
  readonly response: R | undefined
}

interface DirectCallsParts {
  readonly clock: Clock
  /** Called when a call begins and when it has ended, like the listener of the proxy. */
  readonly report: (call: ProxiedCall) => void
  readonly signal: AbortSignal
}

const CALL_MS = 60_000
/** The time for which calls are repeated while the driver is unavailable. */
const LOST_MS = 30_000

/** The ID of the last direct call. It is negative, because the proxy gives positive IDs. */
let lastId = 0

/** Calls the driver directly, without the sidecars. The checks get these calls like all other calls. */
export class DirectCalls {
  readonly #options: DirectCallsParts

  constructor(options: DirectCallsParts) {
    this.#options = options
  }

  /** Calls the driver and returns its answer or its error. Repeats the call while the driver is unavailable. */
  async ask<Q extends object, R extends object>(
    driver: Driver,
    method: UnaryMethod<Q, R>,
    request: Q,
  ): Promise<Reply<R>> {
    const { clock, signal } = this.#options
    const work = (): Promise<R> => this.#once(driver, method, request)
    try {
      return {
        code: 0,
        message: '',
        response: await retrying({ clock, signal }, work, { withinMs: LOST_MS, passing: [CODES.Unavailable] }),
      }
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      return { code: error.code, message: error.details, response: undefined }
    }
  }

  async #once<Q extends object, R extends object>(driver: Driver, method: UnaryMethod<Q, R>, request: Q): Promise<R> {
    const { clock, report, signal } = this.#options
    lastId -= 1
    const open = { end: undefined, code: undefined, message: '', response: undefined, fault: undefined }
    const call = {
      id: lastId,
      method: methodOf(method.path),
      request: { ...request } as ProxiedCall['request'],
      start: clock.monotonic(),
    }
    report({ ...call, ...open })
    const end = (answer: Partial<ProxiedCall>): void => report({ ...call, ...open, ...answer, end: clock.monotonic() })
    try {
      const response = await driver.call(method, request, { timeoutMs: CALL_MS, signal })
      end({ code: 0, response: { ...response } as ProxiedCall['response'] })
      return response
    } catch (error) {
      if (error instanceof RpcError) end({ code: error.code, message: error.details })
      else end({ message: String(error) })
      throw error
    }
  }
}

const TIMEOUT_MS = 120_000
const PAUSE_MS = 500
const PASSING: readonly number[] = [CODES.Unavailable, CODES.Aborted, CODES.Canceled, CODES.DeadlineExceeded]

interface Retries {
  readonly withinMs: number
  /** The codes of temporary errors. */
  readonly passing: readonly number[]
}

/** Repeats a call after temporary errors, because a driver that the test kills is unavailable at times. */
export async function retrying<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: () => Promise<T>,
  { withinMs = TIMEOUT_MS, passing = PASSING }: Partial<Retries> = {},
): Promise<T> {
  const until = clock.monotonic() + withinMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      const passes = error instanceof RpcError && passing.includes(error.code)
      if (!passes || clock.monotonic() > until) throw error
      await clock.sleep(PAUSE_MS, signal)
    }
  }
}
