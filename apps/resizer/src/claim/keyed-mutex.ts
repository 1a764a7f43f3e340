import { abortable, type Clock } from '@csi-sidecars/base'

/**
 * Serializes the writes to each claim, because the resize and the modify controller patch the same object. A run holds
 * the mutex of its claim while it reads, decides and writes.
 *
 * The mutex is never held during a call to the driver. An expansion and a modification of one claim can therefore run
 * at the same time, as some storage systems require.
 *
 * Each write enters the cache before the mutex is released, so the next patch does not conflict.
 */
export class KeyedMutex {
  /** A promise for each key, which resolves when the last waiter has released the key. */
  readonly #last = new Map<string, Promise<void>>()

  /** Runs `work` after all earlier work on the key. If the signal is aborted first, rejects without running `work`. */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const before = this.#last.get(key)
    const end = Promise.withResolvers<void>()
    // A waiter behind an aborted waiter must still wait for all earlier waiters.
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

  /** The number of keys with running or waiting work. */
  get size(): number {
    return this.#last.size
  }
}

/** The claims whose size or class the driver has refused as infeasible. Each claim stays here for a fixed time. */
export class SlowSet {
  readonly #clock: Clock
  readonly #lifeMs: number
  /** The expiry time by key. The first entry expires first, because all keys stay for the same time. */
  readonly #ends = new Map<string, number>()

  constructor(clock: Clock, lifeMs: number) {
    this.#clock = clock
    this.#lifeMs = lifeMs
  }

  /** Adds a key. A key that is already in the set keeps its expiry time. */
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

  /** Returns the milliseconds until the key expires. Undefined if the key is not in the set. */
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
