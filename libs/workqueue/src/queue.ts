import { invariant, onAbort } from '@csi-sidecars/base'
import { FifoOrder } from './fifo-order.ts'
import type { KeyOrder, KeyPriority } from './key-order.ts'
import { type QueueObserver, unobserved } from './metrics.ts'

interface Waiter {
  readonly resolve: (key: string | undefined) => void
  readonly forget: () => void
}

/**
 * Hands keys to workers.
 *
 * Guarantees:
 * - fair: keys leave in their order;
 * - stingy: a key has one run even if it is added many times before that run;
 * - exclusive: two workers never have the same key;
 * - nothing is lost: a key that is added during its run runs once more afterwards, unless `markSeen` follows.
 */
export class Queue {
  /** The keys that need a run, including keys in work that were added again. */
  readonly #dirty = new Set<string>()
  /** The keys in work, from `get` to `done`. If such a key needs another run, `done` adds it to the order. */
  readonly #processing = new Set<string>()
  readonly #order: KeyOrder
  readonly #observer: QueueObserver
  readonly #waiters = new Set<Waiter>()
  #state: 'open' | 'paused' | 'shut' = 'open'

  constructor(options: { order?: KeyOrder; observer?: QueueObserver } = {}) {
    this.#order = options.order ?? new FifoOrder()
    this.#observer = options.observer ?? unobserved
  }

  /** The number of waiting keys, without keys in work. */
  get length(): number {
    return this.#order.length
  }

  get inWork(): number {
    return this.#processing.size
  }

  isInWork(key: string): boolean {
    return this.#processing.has(key)
  }

  /** Returns the group whose limit keeps the key waiting, even if workers are free. */
  blockedBy(key: string): string | undefined {
    return this.#order.blockedBy?.(key)
  }

  /** Reports whether the key is in work or waits for a run. */
  isPending(key: string): boolean {
    return this.#processing.has(key) || this.#dirty.has(key)
  }

  /** True after `shutDown`: no key is added any longer. */
  get isShut(): boolean {
    return this.#state === 'shut'
  }

  add(key: string, priority: KeyPriority = 'normal'): void {
    if (this.#state === 'shut') return
    const isDirty = this.#dirty.has(key)
    if (!isDirty) {
      this.#dirty.add(key)
      this.#observer.added(key)
    }
    // The next run of the key begins after `done`.
    if (this.#processing.has(key)) return
    if (!isDirty) this.#order.push(key, priority)
    else if (priority === 'normal') this.#order.touch(key)
    this.#handOut()
  }

  /**
   * Records that the current run of the key takes account of all additions so far, so that they cause no further run. A
   * further run would not wait for the back-off.
   */
  markSeen(key: string): void {
    if (this.#processing.has(key) && this.#dirty.delete(key)) this.#observer.dropped(key)
  }

  /**
   * Returns the next key, or undefined if the queue is shut down and empty. The caller must call `done` with every key.
   */
  get(signal?: AbortSignal): Promise<string | undefined> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const key = this.#pop()
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

  /** Ends the work on a key, whatever its result. */
  done(key: string): void {
    invariant(this.#processing.delete(key), `done of ${key}, which is not in work`)
    this.#order.release(key)
    this.#observer.ended(key)
    if (this.#dirty.has(key)) this.#order.push(key, 'normal')
    this.#handOut()
    this.#retireWhenIdle()
  }

  /** Hands out no key until `resume`. Running keys continue; keys can be added. */
  pause(): void {
    if (this.#state === 'open') this.#state = 'paused'
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'open'
    this.#handOut()
  }

  /** Refuses further keys. Waiting keys are still handed out, then workers get undefined. */
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

  #pop(): string | undefined {
    if (this.#state === 'paused') return undefined
    const key = this.#order.pop()
    if (key === undefined) return undefined
    this.#dirty.delete(key)
    this.#processing.add(key)
    this.#observer.started(key)
    return key
  }

  #handOut(): void {
    for (const waiter of this.#waiters) {
      const key = this.#pop()
      if (key === undefined && !this.#ended()) return
      this.#waiters.delete(waiter)
      waiter.forget()
      waiter.resolve(key)
    }
  }
}
