import type { Cancel, Clock } from './clock.ts'
import { invariant } from './errors.ts'
import { onAbort } from './on-abort.ts'

interface Taker {
  readonly serve: () => void
}

/**
 * A bucket that holds `burst` tokens and gains `qps` a second. Full at first.
 * Takers are served in the order of their requests; when one is cancelled, those behind it move up.
 */
export class TokenBucket {
  readonly #clock: Clock
  readonly #msPerToken: number
  readonly #burst: number
  /** When the next token is available. A time instead of a count needs no updates in between. */
  #next = Number.NEGATIVE_INFINITY
  readonly #takers = new Set<Taker>()
  /** When the first taker is served, the second, and so on. They belong to places in the line, not to takers. */
  readonly #turns: number[] = []
  #cancel: Cancel | undefined

  /** Takers never wait if `qps` is Infinity. */
  constructor(options: { clock: Clock; qps: number; burst: number }) {
    const { clock, qps, burst } = options
    invariant(qps > 0, `a bucket that gains ${qps} tokens a second`)
    invariant(burst >= 1 && Number.isFinite(burst), `a bucket that holds ${burst} tokens`)
    this.#clock = clock
    this.#msPerToken = 1000 / qps
    this.#burst = burst
  }

  /** Takes a token now, on credit if need be. Returns the milliseconds to wait before it may be used. */
  reserve(): number {
    return Math.max(0, this.#claim() - this.#clock.monotonic())
  }

  /** Returns a token that was reserved and not used. */
  refund(): void {
    this.#next -= this.#msPerToken
  }

  /** Waits for a token and returns how long that took. A taker that is aborted while waiting returns its place. */
  async take(signal?: AbortSignal): Promise<number> {
    signal?.throwIfAborted()
    const asked = this.#clock.monotonic()
    const turn = this.#claim()
    if (turn <= asked && this.#takers.size === 0) return 0
    await this.#lineUp(turn, signal)
    return this.#clock.monotonic() - asked
  }

  #claim(): number {
    const sinceWhenFull = this.#clock.monotonic() - (this.#burst - 1) * this.#msPerToken
    const there = Math.max(this.#next, sinceWhenFull)
    this.#next = there + this.#msPerToken
    return there
  }

  #lineUp(turn: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const ignoreAbort = onAbort(signal, () => {
        this.#leave(taker)
        reject(signal?.reason)
      })
      const serve = (): void => {
        ignoreAbort()
        resolve()
      }
      const taker: Taker = { serve }
      this.#takers.add(taker)
      this.#turns.push(turn)
      if (this.#takers.size === 1) this.#arm()
    })
  }

  #leave(taker: Taker): void {
    this.#takers.delete(taker)
    this.#turns.pop()
    this.refund()
    if (this.#takers.size === 0) this.#arm()
  }

  /** One timer, for the first taker. */
  #arm(): void {
    this.#cancel?.()
    const [turn] = this.#turns
    this.#cancel =
      turn === undefined ? undefined : this.#clock.schedule(turn - this.#clock.monotonic(), () => this.#serve())
  }

  #serve(): void {
    const now = this.#clock.monotonic()
    for (const taker of this.#takers) {
      if (this.#turns[0] === undefined || this.#turns[0] > now) break
      this.#turns.shift()
      this.#takers.delete(taker)
      taker.serve()
    }
    this.#arm()
  }
}
