import { abortable, type Clock } from '@csi-sidecars/base'

/**
 * Serializes the writers of each claim. Resize and modify run at the same time and patch the same object. A run holds
 * the mutex of its key while it reads, decides and writes.
 *
 * The mutex is never held during a call to the driver. Both calls of one edit therefore reach the driver together, as
 * some back ends require, and neither controller waits for the other's call.
 *
 * The cache learns each write before the mutex is released. The next holder starts from that write, so its patch does
 * not conflict.
 */
export class KeyedMutex {
  /** A promise for each key, which resolves when the last waiter has released the key. */
  readonly #last = new Map<string, Promise<void>>()

  /** Runs `work` once all that asked for the key before are done. Rejects without running it when the signal comes first. */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const before = this.#last.get(key)
    const end = Promise.withResolvers<void>()
    // A waiter that gives up must not change the order of the others.
    const ended = before === undefined ? end.promise : before.then(() => end.promise)
    this.#last.set(key, ended)
    void ended.then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    })
    try {
      if (before !== undefined) await abortable(before, signal)
      return await work()
    } finally {
      end.resolve()
    }
  }

  /** Keys that are held. */
  get size(): number {
    return this.#last.size
  }
}

/** Claims whose request the driver called infeasible, each for a fixed time after it was put in. */
export class SlowSet {
  readonly #clock: Clock
  readonly #lifeMs: number
  /** When each key leaves, earliest first: all live for the same time, and an entry is never renewed. */
  readonly #ends = new Map<string, number>()

  constructor(clock: Clock, lifeMs: number) {
    this.#clock = clock
    this.#lifeMs = lifeMs
  }

  /** A key that is in already keeps its time. */
  add(key: string): void {
    this.#sweep()
    if (!this.#ends.has(key)) this.#ends.set(key, this.#clock.monotonic() + this.#lifeMs)
  }

  remove(key: string): void {
    this.#ends.delete(key)
  }

  clear(): void {
    this.#ends.clear()
  }

  /** Milliseconds until the key leaves; undefined when it is not in. */
  leftMs(key: string): number | undefined {
    const end = this.#ends.get(key)
    if (end === undefined) return undefined
    const left = end - this.#clock.monotonic()
    return left > 0 ? left : undefined
  }

  get size(): number {
    this.#sweep()
    return this.#ends.size
  }

  #sweep(): void {
    const now = this.#clock.monotonic()
    for (const [key, end] of this.#ends) {
      if (end > now) return
      this.#ends.delete(key)
    }
  }
}
