import { invariant, onAbort } from '@csi-sidecars/base'
import { FifoOrder } from './fifo-order.ts'
import { type QueueObserver, unobserved } from './metrics.ts'
import type { KeyOrder, KeyPriority } from './order.ts'

interface Waiter {
  readonly resolve: (key: string | undefined) => void
  readonly forget: () => void
}

/**
 * Hands keys to workers. Promises:
 * - fair: keys leave in their order;
 * - stingy: a key that is added many times before it is worked on is worked on once;
 * - exclusive: a key is never in two workers;
 * - nothing lost: a key that is added while it is worked on is worked on once more afterwards, unless `markSeen` follows.
 */
export class Queue {
  /** Keys that need work. A key in work is here too when it was added again meanwhile. */
  readonly #dirty = new Set<string>()
  /** Keys that a worker holds: from `get` to `done`. Those that are dirty too are not in the order. */
  readonly #processing = new Set<string>()
  readonly #order: KeyOrder
  readonly #observer: QueueObserver
  readonly #waiters = new Set<Waiter>()
  #state: 'open' | 'paused' | 'shut' = 'open'

  constructor(options: { order?: KeyOrder; observer?: QueueObserver } = {}) {
    this.#order = options.order ?? new FifoOrder()
    this.#observer = options.observer ?? unobserved
  }

  /** Keys that wait, not those in work. */
  get length(): number {
    return this.#order.length
  }

  get inWork(): number {
    return this.#processing.size
  }

  isInWork(key: string): boolean {
    return this.#processing.has(key)
  }

  /** The group that the key waits for though workers may be free. */
  blockedBy(key: string): string | undefined {
    return this.#order.blockedBy?.(key)
  }

  /** Whether the key is in work or to be worked on. */
  isPending(key: string): boolean {
    return this.#processing.has(key) || this.#dirty.has(key)
  }

  /** No key is taken any more: from `shutDown` on. */
  get isShut(): boolean {
    return this.#state === 'shut'
  }

  add(key: string, priority: KeyPriority = 'normal'): void {
    if (this.#state === 'shut') return
    const known = this.#dirty.has(key)
    if (!known) {
      this.#dirty.add(key)
      this.#observer.added(key)
    }
    // Its turn comes after `done`.
    if (this.#processing.has(key)) return
    if (!known) this.#order.push(key, priority)
    else if (priority === 'normal') this.#order.touch(key)
    this.#handOut()
  }

  /**
   * The run over a key in work reads its objects now: what it was added for until now needs no other run, which would
   * not wait for the back-off of this one.
   */
  markSeen(key: string): void {
    if (this.#processing.has(key) && this.#dirty.delete(key)) this.#observer.dropped(key)
  }

  /**
   * The next key, when there is one; undefined once the queue is shut down and empty.
   * Every key must be given back by `done`.
   */
  get(signal?: AbortSignal): Promise<string | undefined> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const key = this.#take()
    if (key !== undefined || this.#ended()) return Promise.resolve(key)
    return new Promise((resolve, reject) => {
      const forget = onAbort(signal, () => {
        this.#waiters.delete(waiter)
        reject(signal?.reason)
      })
      const waiter: Waiter = { resolve, forget }
      this.#waiters.add(waiter)
    })
  }

  /** The worker has finished with the key, whatever the result. */
  done(key: string): void {
    invariant(this.#processing.delete(key), `done of ${key}, which is not in work`)
    this.#order.release(key)
    this.#observer.ended(key)
    if (this.#dirty.has(key)) this.#order.push(key, 'normal')
    this.#handOut()
    this.#retireWhenIdle()
  }

  /** Hands out nothing more until `resume`. Keys in work continue; keys can still be added. */
  pause(): void {
    if (this.#state === 'open') this.#state = 'paused'
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'open'
    this.#handOut()
  }

  /** Takes no more keys. Those that wait are still handed out, then workers get undefined. */
  shutDown(): void {
    this.#state = 'shut'
    this.#handOut()
    this.#retireWhenIdle()
  }

  #retireWhenIdle(): void {
    if (this.#state === 'shut' && this.#processing.size === 0) this.#observer.retired()
  }

  #ended(): boolean {
    return this.#state === 'shut' && this.#order.length === 0
  }

  #take(): string | undefined {
    if (this.#state === 'paused') return undefined
    const key = this.#order.take()
    if (key === undefined) return undefined
    this.#dirty.delete(key)
    this.#processing.add(key)
    this.#observer.started(key)
    return key
  }

  #handOut(): void {
    for (const waiter of this.#waiters) {
      const key = this.#take()
      if (key === undefined && !this.#ended()) return
      this.#waiters.delete(waiter)
      waiter.forget()
      waiter.resolve(key)
    }
  }
}
