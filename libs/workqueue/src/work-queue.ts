import type { Clock, TokenBucket } from '@csi-sidecars/base'
import { Delays } from './delays.ts'
import type { QueueObserver } from './metrics.ts'
import type { KeyOrder, KeyPriority } from './order.ts'
import { Queue } from './queue.ts'
import type { RateLimiter } from './rate-limiter.ts'

export interface WorkQueueOptions {
  readonly clock: Clock
  readonly limiter: RateLimiter
  readonly order?: KeyOrder
  readonly observer?: QueueObserver
  /** Of which each key takes one whose delay is over. */
  readonly pace?: TokenBucket
}

/**
 * A queue whose keys can also be added after a delay, or after the wait that follows from their failures.
 * Adding a key for a cause neither waits for its delay nor shortens the next one. Such a key goes before those whose
 * delay is over, which are retries: work that fails again and again blocks no other.
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

  /** Keys that wait for a worker. */
  get length(): number {
    return this.#queue.length
  }

  get inWork(): number {
    return this.#queue.inWork
  }

  isInWork(key: string): boolean {
    return this.#queue.isInWork(key)
  }

  /** Whether the key is in work or to be worked on. */
  isPending(key: string): boolean {
    return this.#queue.isPending(key)
  }

  /** The group that the key waits for though workers may be free. */
  blockedBy(key: string): string | undefined {
    return this.#queue.blockedBy(key)
  }

  /** Keys that are to be added later. */
  planned(): Iterable<string> {
    return this.#delays.keys()
  }

  /** Keys that have failed since they last succeeded. */
  failed(): Iterable<string> {
    return this.#limiter.failed()
  }

  add(key: string, priority: KeyPriority = 'normal'): void {
    this.#queue.add(key, priority)
  }

  /** Adds the key after `ms`, unless it is worked on before: that run decides again. */
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

  /** The key has succeeded: its next failure waits as the first one does. */
  forget(key: string): void {
    this.#limiter.forget(key)
  }

  /** Milliseconds until the key is added by itself; undefined when nothing is planned. */
  dueIn(key: string): number | undefined {
    return this.#delays.dueIn(key)
  }

  async get(signal?: AbortSignal): Promise<string | undefined> {
    const key = await this.#queue.get(signal)
    if (key !== undefined) this.#delays.remove(key)
    return key
  }

  /** The run over the key reads its objects now: what it was added for until now needs no other run. */
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

  /** Drops the keys that are planned for later and takes no more; waiting keys are still handed out. */
  shutDown(): void {
    this.#delays.clear()
    this.#queue.shutDown()
  }
}
