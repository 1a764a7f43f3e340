import type { Run } from '@csi-sidecars/controller'

/** The keys for which the driver was called since it was begun, or is being called right now. */
export interface WorkSince extends Disposable {
  has(key: string): boolean
}

/** For which keys the driver is called, for those who look at what a call changes. A run that calls nothing is no work. */
export class WorkLog {
  readonly #calling = new Set<string>()
  readonly #begun = new Set<Set<string>>()

  /** Runs the work of a key; the queue sees to it that there is one at a time. From its first call on it counts to its end. */
  async run<T>(key: string, run: Run, work: (run: Run) => Promise<T>): Promise<T> {
    const enter: Run['enter'] = (phase) => {
      if (phase === 'calling') this.#called(key)
      run.enter(phase)
    }
    try {
      return await work({ ...run, enter })
    } finally {
      this.#calling.delete(key)
    }
  }

  /** From now on. */
  since(): WorkSince {
    const seen = new Set(this.#calling)
    this.#begun.add(seen)
    return { has: (key) => seen.has(key), [Symbol.dispose]: () => this.#begun.delete(seen) }
  }

  #called(key: string): void {
    this.#calling.add(key)
    for (const seen of this.#begun) seen.add(key)
  }
}
