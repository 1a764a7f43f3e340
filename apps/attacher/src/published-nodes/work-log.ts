import { onPhase } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'

/** The keys whose runs have called the driver since this record began, or call it now. */
export interface WorkSince extends Disposable {
  has(key: string): boolean
}

/** Records the keys whose runs call the driver, for readers of the result of such calls. */
export class WorkLog {
  readonly #calling = new Set<string>()
  readonly #begun = new Set<Set<string>>()

  /** Runs the work of a key. The work counts from its first call to its end; the queue runs one work of a key at a time. */
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

  /** Records the keys from now on. */
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
