import { abortable } from '@csi-sidecars/base'

/**
 * One writer for each claim. Resize and modify of a claim run side by side and patch the same object; a run that reads
 * the claim to write it holds the mutex of its key.
 *
 * It is held while reading, deciding and writing, never during a call to the driver: both calls of one edit reach the
 * driver together however long each of them takes (some back ends must see them within seconds to carry them out as
 * one), and neither controller waits for the other's driver. Since our own writes are known to the cache before the
 * mutex is released, the next holder starts from them, so the two cannot refuse each other's patches.
 */
export class KeyedMutex {
  /** When the last one that asked for the key will have released it. A key without a holder is not listed. */
  readonly #last = new Map<string, Promise<void>>()

  /** Runs `work` once all that asked for the key before are done. Rejects without running it when the signal comes first. */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const before = this.#last.get(key)
    const end = Promise.withResolvers<void>()
    // One that gives up must not let those behind it overtake those in front.
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
