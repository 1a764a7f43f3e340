import { abortable } from './abort.ts'

/**
 * Runs the work on one key one after the other. The work on different keys runs at the same time.
 *
 * Caveats: work must not wait for other work on the same key.
 */
export class KeyedMutex {
  /** A promise for each key. It resolves when the last waiter is done. */
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
