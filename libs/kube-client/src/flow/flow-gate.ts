import { type Cancel, CancelledError, type Clock, onAbort, type Scope, scope } from '@csi-sidecars/base'
import type { FlowOutcome, FlowPolicy } from './policy.ts'

/** A permit to send one request. The caller calls `end` exactly once. */
export interface Permit {
  /** The milliseconds that the caller has waited for the permit. */
  readonly waitedMs: number
  end(outcome: FlowOutcome): void
}

/** The longest time between two checks whether a `background` request may pass. Such requests are never urgent. */
const BACKGROUND_CHECK_MS = 1000

/** Admits requests in the order of their arrival, as fast as the policy allows. */
export class FlowGate {
  readonly #clock: Clock
  readonly #policy: FlowPolicy
  /** The waiting requests, as functions that give them their permits. */
  readonly #waiters = new Set<() => void>()
  /** Refused requests that have waited long enough. They pass before other requests. */
  readonly #returnedWaiters = new Set<() => void>()
  /** The waits of refused requests. A wait ends after its Retry-After, or when the server has room again. */
  readonly #refusedWaits = new Set<Scope>()
  #timer: Cancel | undefined

  constructor(clock: Clock, policy: FlowPolicy) {
    this.#clock = clock
    this.#policy = policy
  }

  /** Returns a permit at once if the gate is free, otherwise a promise. An aborted caller leaves the queue. */
  enter(signal?: AbortSignal): Permit | Promise<Permit> {
    return this.#enter(this.#clock.monotonic(), signal)
  }

  #enter(since: number, signal?: AbortSignal): Permit | Promise<Permit> {
    const now = this.#clock.monotonic()
    if (this.#hasNoWaiters && this.#policy.admitOrWaitMs(now) === 0) return this.#createPermit(since, now)
    return this.#queue(this.#waiters, since, signal)
  }

  /**
   * Resolves with a permit for a refused request after `waitMs`, or earlier if the policy finds that the server has
   * room again.
   */
  async enterAgain(waitMs: number, signal?: AbortSignal): Promise<Permit> {
    const since = this.#clock.monotonic()
    using wait = scope(signal)
    this.#refusedWaits.add(wait)
    try {
      await this.#clock.sleep(waitMs, wait.signal)
    } catch (reason) {
      if (reason !== ROOM) throw reason
    } finally {
      this.#refusedWaits.delete(wait)
    }
    return await this.#queue(this.#returnedWaiters, since, signal)
  }

  /** Waits until the policy has room and no other request waits, but at most `maxMs`. Then it is like `enter`. */
  async enterInBackground(signal?: AbortSignal, maxMs = Number.POSITIVE_INFINITY): Promise<Permit> {
    const asked = this.#clock.monotonic()
    for (let now = asked; now - asked < maxMs; now = this.#clock.monotonic()) {
      signal?.throwIfAborted()
      const wait = this.#hasNoWaiters ? this.#policy.admitInBackgroundOrWaitMs(now) : BACKGROUND_CHECK_MS
      if (wait === 0) return this.#createPermit(asked, now)
      await this.#clock.sleep(
        Math.min(Math.max(wait, BACKGROUND_CHECK_MS / 10), BACKGROUND_CHECK_MS, asked + maxMs - now),
        signal,
      )
    }
    return this.#enter(asked, signal)
  }

  get #hasNoWaiters(): boolean {
    return this.#waiters.size === 0 && this.#returnedWaiters.size === 0
  }

  #queue(queue: Set<() => void>, since: number, signal?: AbortSignal): Promise<Permit> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const removeAbortListener = onAbort(signal, () => {
        queue.delete(grant)
        reject(signal?.reason)
        if (this.#hasNoWaiters) this.#timer?.()
      })
      const grant = (): void => {
        removeAbortListener()
        resolve(this.#createPermit(since, this.#clock.monotonic()))
      }
      queue.add(grant)
      this.#grantPermits()
    })
  }

  #createPermit(askedAt: number, startedAt: number): Permit {
    return {
      waitedMs: startedAt - askedAt,
      end: (outcome) => {
        const waiting = this.#waiters.size + this.#returnedWaiters.size + this.#refusedWaits.size + 1
        const room = this.#policy.recordEnd(this.#clock.monotonic(), { startedAt, outcome, waiting })
        if (room === 'hasRoom') for (const wait of this.#refusedWaits) wait.abort(ROOM)
        if (!this.#hasNoWaiters) this.#grantPermits()
      },
    }
  }

  /** Admits the allowed waiters, and sets a timer for the next waiter. */
  #grantPermits(): void {
    this.#timer?.()
    this.#timer = undefined
    for (const queue of [this.#returnedWaiters, this.#waiters]) {
      for (const give of queue) {
        const wait = this.#policy.admitOrWaitMs(this.#clock.monotonic())
        if (wait > 0) {
          if (Number.isFinite(wait)) this.#timer = this.#clock.schedule(wait, () => this.#grantPermits())
          return
        }
        queue.delete(give)
        give()
      }
    }
  }
}

/** The abort reason for the wait of a refused request. The request may be sent before its Retry-After ends. */
const ROOM = new CancelledError('the server has room again')
