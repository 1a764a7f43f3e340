import { type Clock, exponential, type TokenBucket } from '@csi-sidecars/base'
import { Delays } from './delays.ts'
import type { KeyOrder, KeyPriority } from './key-order.ts'
import type { QueueObserver } from './metrics.ts'
import { Queue } from './queue.ts'

/** The clock, the back-off and the order of a work queue. */
export interface WorkQueueOptions {
  readonly clock: Clock
  readonly limiter: RateLimiter
  readonly order?: KeyOrder
  readonly observer?: QueueObserver
  /** Each key whose delay is over takes a token from it. Default: no limit. */
  readonly pace?: TokenBucket
}

/** The back-off of failing keys. */
export interface RateLimiter {
  /** Counts a failure of the key. Returns the milliseconds before the next try. */
  when(key: string): number
  /** Forgets the failures of a key that has succeeded. */
  forget(key: string): void
  /** Returns the keys that have failed since their last success. */
  failed(): Iterable<string>
}

/**
 * A queue whose keys can also be added after a delay, or after a back-off that grows with their failures.
 *
 * Guarantees: two workers never have the same key. An added key is never lost, and does not wait for its delay. Added
 * keys go before keys whose delay is over (retries), so that failing work blocks no other work.
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
    this.#delays = new Delays({ clock, pace, onDue: (key) => this.#queue.add(key, 'retry') })
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

  /** Returns the group whose limit keeps the key waiting, even if workers are free. */
  blockedBy(key: string): string | undefined {
    return this.#queue.blockedBy(key)
  }

  planned(): Iterable<string> {
    return this.#delays.keys()
  }

  /** Returns the keys that have failed since their last success. */
  failed(): Iterable<string> {
    return this.#limiter.failed()
  }

  add(key: string, priority: KeyPriority = 'normal'): void {
    this.#queue.add(key, priority)
  }

  /** Adds the key after `ms` milliseconds, unless it runs earlier. */
  addAfter(key: string, ms: number): void {
    if (this.#queue.isShut) return
    this.#observer?.retried()
    if (ms <= 0) this.#queue.add(key)
    else this.#delays.add(key, ms)
  }

  /** Counts a failure of the key, and adds it after a growing wait. */
  addRateLimited(key: string): void {
    this.addAfter(key, this.#limiter.when(key))
  }

  /** Forgets the failures of the key: its next wait is the shortest. */
  forget(key: string): void {
    this.#limiter.forget(key)
  }

  /** Returns the milliseconds until the key is added. Undefined if it is not planned. */
  dueInMs(key: string): number | undefined {
    return this.#delays.dueInMs(key)
  }

  async get(signal?: AbortSignal): Promise<string | undefined> {
    const key = await this.#queue.get(signal)
    if (key !== undefined) this.#delays.remove(key)
    return key
  }

  /** Records that the current run of the key takes account of all additions so far: they cause no further run. */
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

  /** Refuses further keys and drops keys with a delay. Keys that wait for a worker are still handed out. */
  shutDown(): void {
    this.#delays.clear()
    this.#queue.shutDown()
  }
}

/** Returns a limiter with a wait of `baseMs` x 2^failures for each key, at most `maxMs`. Stores only failed keys. */
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
