import { AdaptiveLimit } from '@csi-sidecars/base'
import type { FlowEnd, FlowPolicy, Refusal, RoomAfterEnd } from './policy.ts'

/** The maximum number of parallel requests and connections, which is more than an API server grants one client. */
export const MAX_RUNNING = 100
/** The initial maximum number of parallel requests. */
const FIRST_RUNNING = 16
/** The shortest pause after the server refused the only running request. */
const MIN_PAUSE_MS = 10

/**
 * Adapts the limit of parallel requests. A 429 halves the limit if its request started after the last halving. Before
 * the first 429, each success raises the limit by one. Later a limit of n rises by one after n successes.
 *
 * If the server refuses a request that ran alone, a pause separates requests. Each refusal in a row doubles the pause,
 * and several successes halve it. The pause is at most the Retry-After divided by the number of waiting requests.
 */
export class AdaptivePolicy implements FlowPolicy {
  readonly #limit: AdaptiveLimit
  #pauseMs = 0
  #refusedInRow = 0
  #pausedUntil = Number.NEGATIVE_INFINITY

  constructor(maxRunning: number = MAX_RUNNING) {
    this.#limit = new AdaptiveLimit({ max: maxRunning, first: FIRST_RUNNING })
  }

  /** The current maximum number of parallel requests. */
  get limit(): number {
    return this.#limit.value
  }

  admitOrWaitMs(now: number): number {
    if (this.#limit.isFull) return Number.POSITIVE_INFINITY
    if (now < this.#pausedUntil) return this.#pausedUntil - now
    this.#limit.begin()
    return 0
  }

  /** Admits a `background` request only if less than half of the limit is running, so that other requests find room. */
  admitInBackgroundOrWaitMs(now: number): number {
    return this.#limit.running >= this.#limit.value / 2 ? Number.POSITIVE_INFINITY : this.admitOrWaitMs(now)
  }

  recordEnd(now: number, { startedAt, outcome, waiting }: FlowEnd): RoomAfterEnd {
    const ran = Math.min(this.#limit.value, this.#limit.running)
    this.#limit.end()
    if (outcome === 'done') this.#succeeded(now)
    else if (outcome !== 'inconclusive' && this.#limit.refused({ ran, startedAt, now })) {
      if (ran <= 1) this.#pause(now, outcome, waiting)
    }
    return outcome === 'done' ? 'hasRoom' : 'unknown'
  }

  #succeeded(now: number): void {
    this.#refusedInRow = 0
    if (this.#limit.completesRound()) {
      if (this.#pauseMs === 0) this.#limit.raise()
      else this.#pauseMs = this.#pauseMs < 2 * MIN_PAUSE_MS ? 0 : this.#pauseMs / 2
    }
    this.#pausedUntil = now + this.#pauseMs
  }

  /** Delays the next request after the server has refused a request that ran alone. */
  #pause(now: number, { retryAfterMs }: Refusal, waiting: number): void {
    const maxMs = Math.max(MIN_PAUSE_MS, retryAfterMs / waiting)
    if (this.#refusedInRow === 0) this.#pauseMs = Math.min(maxMs, Math.max(MIN_PAUSE_MS, 2 * this.#pauseMs))
    this.#pausedUntil = now + Math.min(maxMs, this.#pauseMs * 2 ** this.#refusedInRow)
    this.#refusedInRow += 1
  }
}

/**
 * Starts `burst` requests at once and then `qps` requests a second, however many are running. A burst below one allows
 * no requests, and a negative rate allows all requests.
 */
export class BucketPolicy implements FlowPolicy {
  readonly #qps: number
  readonly #burst: number
  #tokens: number
  #filledAt: number

  constructor(options: { qps: number; burst: number; now: number }) {
    this.#qps = options.qps
    this.#burst = options.burst
    this.#tokens = options.burst
    this.#filledAt = options.now
  }

  admitOrWaitMs(now: number): number {
    if (this.#qps < 0) return 0
    this.#advance(now)
    // Rounding errors of floating point must not cause a wait.
    if (this.#tokens < 1 - 1e-9) return ((1 - this.#tokens) * 1000) / this.#qps
    this.#tokens -= 1
    return 0
  }

  /** Admits a `background` request only if half of the burst is left. */
  admitInBackgroundOrWaitMs(now: number): number {
    if (this.#qps < 0) return 0
    this.#advance(now)
    const missing = 1 + Math.min(this.#burst / 2, this.#burst - 1) - this.#tokens
    return missing > 1e-9 ? (missing * 1000) / this.#qps : this.admitOrWaitMs(now)
  }

  /** The rate is fixed, so refused requests wait the demanded time. */
  recordEnd(): RoomAfterEnd {
    return 'unknown'
  }

  #advance(now: number): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) * this.#qps) / 1000)
    this.#filledAt = now
  }
}
