import type { FlowOutcome, FlowPolicy } from './policy.ts'

export interface AdaptiveLimits {
  /** Requests a second: where it starts, and what it never exceeds. */
  readonly maxRate: number
  /** What it never falls below, however often the server refuses. */
  readonly minRate: number
  /** Requests a second gained in each second without a refusal. */
  readonly gain: number
  readonly maxRunning: number
}

/** The floor is what upstream's fixed bucket grants; the ceiling is above what one API server gives one client. */
export const ADAPTIVE_LIMITS: AdaptiveLimits = { maxRate: 2000, minRate: 5, gain: 100, maxRunning: 100 }

/** Tokens saved up while nothing is asked, as seconds of the present rate. */
const BURST_SECONDS = 0.1

/**
 * Additive increase, multiplicative decrease: fast until the server says 429, then half as fast, then slowly up again.
 * Refusals of requests that were under way at the last halving tell nothing new and do not halve again.
 */
export class AdaptivePolicy implements FlowPolicy {
  readonly #limits: AdaptiveLimits
  #rate: number
  #tokens: number
  #at: number
  #halvedAt = Number.NEGATIVE_INFINITY
  #running = 0

  constructor(now: number, limits: AdaptiveLimits = ADAPTIVE_LIMITS) {
    this.#limits = limits
    this.#rate = limits.maxRate
    this.#tokens = this.#burst()
    this.#at = now
  }

  /** Requests a second at present. */
  get rate(): number {
    return this.#rate
  }

  admit(now: number): number {
    this.#advance(now)
    if (this.#running >= this.#limits.maxRunning) return Number.POSITIVE_INFINITY
    if (this.#tokens < 1 - 1e-9) return ((1 - this.#tokens) * 1000) / this.#rate
    this.#tokens -= 1
    this.#running += 1
    return 0
  }

  /** Half of what may run stays for others, and half of what is saved up. */
  admitSpare(now: number): number {
    this.#advance(now)
    if (this.#running >= this.#limits.maxRunning / 2) return Number.POSITIVE_INFINITY
    const missing = 1 + Math.min(this.#burst() / 2, this.#burst() - 1) - this.#tokens
    return missing > 1e-9 ? (missing * 1000) / this.#rate : this.admit(now)
  }

  ended(now: number, startedAt: number, outcome: FlowOutcome): void {
    this.#advance(now)
    this.#running -= 1
    if (outcome === 'done' || startedAt < this.#halvedAt) return
    this.#rate = Math.max(this.#limits.minRate, this.#rate / 2)
    this.#halvedAt = now
    this.#tokens = Math.min(this.#tokens, this.#burst())
  }

  #advance(now: number): void {
    const seconds = (now - this.#at) / 1000
    this.#at = now
    this.#rate = Math.min(this.#limits.maxRate, this.#rate + seconds * this.#limits.gain)
    this.#tokens = Math.min(this.#burst(), this.#tokens + seconds * this.#rate)
  }

  #burst(): number {
    return Math.max(1, this.#rate * BURST_SECONDS)
  }
}
