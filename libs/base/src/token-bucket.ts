import type { Cancel, Clock } from './clock.ts'
import { invariant } from './errors.ts'
import { onAbort } from './on-abort.ts'

interface Taker {
  readonly serve: () => void
}

/**
 * A bucket that contains at most `burst` tokens and gains `qps` tokens a second. It is full at first. Callers of `acquire`
 * are served in order. If a waiting caller cancels, the callers behind it move up.
 */
export class TokenBucket {
  readonly #clock: Clock
  readonly #msPerToken: number
  readonly #burst: number
  /** The time at which the next token is available. A count of tokens would have to be updated all the time. */
  #next = Number.NEGATIVE_INFINITY
  readonly #takers = new Set<Taker>()
  /** The times at which waiting callers are served, in order. If a caller cancels, the last time is removed. */
  readonly #turns: number[] = []
  #cancel: Cancel | undefined

  /** Callers of `acquire` never wait if `qps` is Infinity. */
  constructor(options: { clock: Clock; qps: number; burst: number }) {
    const { clock, qps, burst } = options
    invariant(qps > 0, `a bucket that gains ${qps} tokens a second`)
    invariant(burst >= 1 && Number.isFinite(burst), `a bucket that holds ${burst} tokens`)
    this.#clock = clock
    this.#msPerToken = 1000 / qps
    this.#burst = burst
  }

  /** Reserves a token. Returns the milliseconds until it is available, 0 for now. */
  reserve(): number {
    return Math.max(0, this.#claim() - this.#clock.monotonic())
  }

  /** Returns a reserved but unused token to the bucket. */
  refund(): void {
    this.#next -= this.#msPerToken
  }

  /** Waits for a token and returns the milliseconds of the wait. A caller whose signal is aborted takes no token. */
  async acquire(signal?: AbortSignal): Promise<number> {
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
      const removeAbortListener = onAbort(signal, () => {
        this.#leave(taker)
        reject(signal?.reason)
      })
      const serve = (): void => {
        removeAbortListener()
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

  /** Sets the only timer of the bucket, for the first waiting caller of `acquire`. */
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
