import { type Clock, exponential, type TokenBucket } from '@csi-sidecars/base'
import { Delays } from './delays.ts'
import type { KeyOrder, KeyPriority } from './fifo-order.ts'
import type { QueueObserver } from './metrics.ts'
import { Queue } from './queue.ts'

export interface WorkQueueOptions {
  readonly clock: Clock
  readonly limiter: RateLimiter
  readonly order?: KeyOrder
  readonly observer?: QueueObserver
  /** The tokens for keys whose delay is over: each of them takes one. Default: no limit. */
  readonly pace?: TokenBucket
}

/**
 * A queue whose keys can also be added after a delay, or after a back-off that grows with their failures.
 *
 * Guarantees: a key is never in two workers. An addition is never lost, and neither waits for the key's delay nor
 * changes it. Added keys go before keys whose delay is over, which are retries: work that fails again and again blocks
 * no other work.
 *
 * Caveats: the caller calls `done` for every key from `get`. `addRateLimited` counts a failure; `forget` resets it.
 *
 * Errors: `get` rejects with the reason of its signal. `done` of a key that is not in work throws InvariantError.
 */
export class WorkQueue {
  readonly #queue: Queue
  readonly #delays: Delays
  readonly #limiter: RateLimiter
  readonly #observer: QueueObserver | undefined

  constructor(options: WorkQueueOptions) {
    this.#queue = new Queue(options)
    const { clock, pace } = options
    this.#delays = new Delays({ clock, pace, due: (key) => this.#queue.add(key, 'retry') })
    this.#limiter = options.limiter
    this.#observer = options.observer
  }

  /** The number of keys that wait for a worker. */
  get length(): number {
    return this.#queue.length
  }

  get inWork(): number {
    return this.#queue.inWork
  }

  isInWork(key: string): boolean {
    return this.#queue.isInWork(key)
  }

  /** Reports whether the key is in work or waits for a run. */
  isPending(key: string): boolean {
    return this.#queue.isPending(key)
  }

  /** The full group that the key waits for, even if workers are free. */
  blockedBy(key: string): string | undefined {
    return this.#queue.blockedBy(key)
  }

  /** The keys that are planned for later. */
  planned(): Iterable<string> {
    return this.#delays.keys()
  }

  /** The keys that have failed since their last success. */
  failed(): Iterable<string> {
    return this.#limiter.failed()
  }

  add(key: string, priority: KeyPriority = 'normal'): void {
    this.#queue.add(key, priority)
  }

  /** Adds the key after `ms`, unless it runs earlier: that run decides again. */
  addAfter(key: string, ms: number): void {
    if (this.#queue.isShut) return
    this.#observer?.retried()
    if (ms <= 0) this.#queue.add(key)
    else this.#delays.add(key, ms)
  }

  /** Counts a failure of the key and adds it after the wait that follows from its failures. */
  addRateLimited(key: string): void {
    this.addAfter(key, this.#limiter.when(key))
  }

  /** Forgets the failures of the key: its next failure waits as the first one does. */
  forget(key: string): void {
    this.#limiter.forget(key)
  }

  /** Milliseconds until the key is added. Undefined: nothing is planned. */
  dueIn(key: string): number | undefined {
    return this.#delays.dueIn(key)
  }

  async get(signal?: AbortSignal): Promise<string | undefined> {
    const key = await this.#queue.get(signal)
    if (key !== undefined) this.#delays.remove(key)
    return key
  }

  /** Marks the additions so far as seen by the run over the key: they need no other run. */
  markSeen(key: string): void {
    this.#queue.markSeen(key)
  }

  done(key: string): void {
    this.#queue.done(key)
  }

  pause(): void {
    this.#queue.pause()
  }

  resume(): void {
    this.#queue.resume()
  }

  /** Drops the planned keys and refuses further keys. Waiting keys are still handed out. */
  shutDown(): void {
    this.#delays.clear()
    this.#queue.shutDown()
  }
}

/** The back-off of failing keys. */
export interface RateLimiter {
  /** Counts a failure of the key. Returns the wait before the next try, in milliseconds. */
  when(key: string): number
  /** Forgets the failures of a key that has succeeded. */
  forget(key: string): void
  /** The keys that have failed since their last success. */
  failed(): Iterable<string>
}

/** A wait of `baseMs` x 2^failures for each key, at most `maxMs`. Remembers only keys that have failed. */
export function perKeyExponential({ baseMs, maxMs }: { baseMs: number; maxMs: number }): RateLimiter {
  const growth = { initialMs: baseMs, maxMs }
  const failures = new Map<string, number>()
  return {
    when(key) {
      const count = failures.get(key) ?? 0
      failures.set(key, count + 1)
      return exponential(growth, count)
    },
    forget: (key) => void failures.delete(key),
    failed: () => failures.keys(),
  }
}
