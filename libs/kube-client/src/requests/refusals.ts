import type { Cancel, Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ApiAnswer, ApiCall } from './call.ts'

/** The current limits that the API server sets for the requests of a client. */
export interface ServerLimits {
  /** The current maximum number of parallel requests. Undefined if flags set a rate. */
  readonly inFlight: number | undefined
  /** The refusals with 429, and the wall time of the first. Undefined if no request was refused for ten seconds. */
  readonly refusals: { readonly count: number; readonly since: number } | undefined
}

/** Everything that the log lines about refused requests need. */
export interface RefusalsOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly concurrencyLimit: (() => number) | undefined
}

/** The period of the log line with the number of refused requests. */
const REPORT_INTERVAL_MS = 10_000
/** The shortest Retry-After that is logged, so that people know why the process waits. */
const MIN_LOGGED_WAIT_MS = 10_000

/** Reports in the log and in `limits` that the API server refuses requests. */
export class Refusals {
  readonly #options: RefusalsOptions
  #since: number | undefined
  #count = 0
  #reportedCount = 0
  #cancelReport: Cancel | undefined
  #longWaitUntil = Number.NEGATIVE_INFINITY

  constructor(options: RefusalsOptions) {
    this.#options = options
  }

  get limits(): ServerLimits {
    const refusals = this.#since === undefined ? undefined : { count: this.#count, since: this.#since }
    return { inFlight: this.#options.concurrencyLimit?.(), refusals }
  }

  /** Records an answer with a Retry-After. */
  recordRefusal({ request, refusals }: ApiCall, { status, retryAfterMs = 0 }: ApiAnswer): void {
    const { log } = this.#options
    const pairs = { retryAfter: `${retryAfterMs / 1000}s`, url: request.path }
    log.v(4)?.info('Got a Retry-After response', { delay: pairs.retryAfter, attempt: refusals, url: request.path })
    if (status === 429) this.#countRefusal()
    const now = this.#options.clock.monotonic()
    if (retryAfterMs < MIN_LOGGED_WAIT_MS || now < this.#longWaitUntil) return
    this.#longWaitUntil = now + retryAfterMs
    log.info('The API server asks to wait', pairs)
  }

  close(): void {
    this.#cancelReport?.()
  }

  #countRefusal(): void {
    this.#count += 1
    this.#since ??= this.#options.clock.now()
    this.#cancelReport ??= this.#reportLater()
  }

  #reportLater(): Cancel {
    return this.#options.clock.schedule(REPORT_INTERVAL_MS, () => this.#report())
  }

  #report(): void {
    const { log, concurrencyLimit } = this.#options
    const refused = this.#count - this.#reportedCount
    if (refused === 0) {
      this.#since = this.#cancelReport = undefined
      this.#count = this.#reportedCount = 0
      return
    }
    this.#reportedCount = this.#count
    const inFlight = concurrencyLimit && { inFlight: concurrencyLimit() }
    log.warn('The API server limits requests', { refused, within: `${REPORT_INTERVAL_MS / 1000}s`, ...inFlight })
    this.#cancelReport = this.#reportLater()
  }
}
