/** The keys that were worked on since it was begun, or are right now. */
export interface WorkSince extends Disposable {
  has(key: string): boolean
}

/** Which keys are worked on, for those who look at what the work changes. */
export class WorkLog {
  readonly #running = new Set<string>()
  readonly #begun = new Set<Set<string>>()

  /** Runs the work of a key; the queue sees to it that there is one at a time. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    this.#running.add(key)
    for (const seen of this.#begun) seen.add(key)
    try {
      return await work()
    } finally {
      this.#running.delete(key)
    }
  }

  /** From now on. */
  since(): WorkSince {
    const seen = new Set(this.#running)
    this.#begun.add(seen)
    return { has: (key) => seen.has(key), [Symbol.dispose]: () => this.#begun.delete(seen) }
  }
}
