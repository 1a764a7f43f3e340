import { onPhase } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'

/** The keys with a call since `since()`, or with a call under way at that moment. */
export interface WorkSince extends Disposable {
  has(key: string): boolean
}

/** Records the keys whose runs call the driver. Runs without a call are not recorded. */
export class WorkLog {
  readonly #calling = new Set<string>()
  readonly #begun = new Set<Set<string>>()

  /** Runs the work of a key. The key counts as calling from its first call to the end of the run. */
  async run<T>(key: string, { signal }: Pick<Run, 'signal'>, work: () => Promise<T>): Promise<T> {
    const ignorePhases = onPhase(signal, (phase) => {
      if (phase === 'calling') this.#called(key)
    })
    try {
      return await work()
    } finally {
      ignorePhases()
      this.#calling.delete(key)
    }
  }

  /** Begins to record keys. */
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
