import { type Cancel, type Clock, onAbort } from '@csi-sidecars/base'
import type { FlowOutcome, FlowPolicy } from './policy.ts'

/** Permission to send one request. `end` it exactly once. */
export interface Permit {
  /** How long it was waited for. */
  readonly waitedMs: number
  end(outcome: FlowOutcome): void
}

interface Waiter {
  give(): void
}

/** Whoever asks for what is to spare has time: so often, at least, it looks again. */
const SPARE_MS = 1000

/** One lane: requests pass in the order in which they asked, as its policy lets them, and none while it is paused. */
export class FlowGate {
  readonly #clock: Clock
  readonly #policy: FlowPolicy
  readonly #waiters = new Set<Waiter>()
  #pausedUntil = Number.NEGATIVE_INFINITY
  #timer: Cancel | undefined

  constructor(clock: Clock, policy: FlowPolicy) {
    this.#clock = clock
    this.#policy = policy
  }

  /** A permit: at once when the lane is free, else a promise of one. A caller that is aborted leaves the queue. */
  enter(signal?: AbortSignal): Permit | Promise<Permit> {
    return this.#enter(this.#clock.monotonic(), signal)
  }

  #enter(since: number, signal?: AbortSignal): Permit | Promise<Permit> {
    const now = this.#clock.monotonic()
    if (this.#waiters.size === 0 && now >= this.#pausedUntil && this.#policy.admit(now) === 0) {
      return this.#permit(since, now)
    }
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const ignoreAbort = onAbort(signal, () => {
        this.#waiters.delete(waiter)
        reject(signal?.reason)
        if (this.#waiters.size === 0) this.#timer?.()
      })
      const waiter: Waiter = {
        give: () => {
          ignoreAbort()
          resolve(this.#permit(since, this.#clock.monotonic()))
        },
      }
      this.#waiters.add(waiter)
      this.#serve()
    })
  }

  /** A permit once nobody else waits for one and the policy has some to spare. After `maxMs` it queues like others. */
  async enterSpare(signal?: AbortSignal, maxMs = Number.POSITIVE_INFINITY): Promise<Permit> {
    const asked = this.#clock.monotonic()
    for (let now = asked; now - asked < maxMs; now = this.#clock.monotonic()) {
      signal?.throwIfAborted()
      const wait = this.#waiters.size > 0 || now < this.#pausedUntil ? SPARE_MS : this.#policy.admitSpare(now)
      if (wait === 0) return this.#permit(asked, now)
      await this.#clock.sleep(Math.min(Math.max(wait, SPARE_MS / 10), SPARE_MS, asked + maxMs - now), signal)
    }
    return this.#enter(asked, signal)
  }

  /** Lets nothing pass for so long, whoever asks. A pause never shortens another. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms)
  }

  #permit(askedAt: number, startedAt: number): Permit {
    return {
      waitedMs: startedAt - askedAt,
      end: (outcome) => {
        this.#policy.ended(this.#clock.monotonic(), startedAt, outcome)
        if (this.#waiters.size > 0) this.#serve()
      },
    }
  }

  /** Lets pass whoever may, and sets a timer for the next one. */
  #serve(): void {
    this.#timer?.()
    this.#timer = undefined
    for (const waiter of this.#waiters) {
      const wait = this.#askPolicy()
      if (wait > 0) {
        if (Number.isFinite(wait)) this.#timer = this.#clock.schedule(wait, () => this.#serve())
        return
      }
      this.#waiters.delete(waiter)
      waiter.give()
    }
  }

  #askPolicy(): number {
    const now = this.#clock.monotonic()
    return now < this.#pausedUntil ? this.#pausedUntil - now : this.#policy.admit(now)
  }
}
