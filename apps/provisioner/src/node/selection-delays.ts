import type { Clock } from '@csi-sidecars/base'
import type { LocalNode } from './local-node.ts'

interface Waiting {
  readonly attempts: number
  /** The next attempt to select this node. Undefined until `waitMs` is called again. */
  readonly dueAtMs: number | undefined
}

/**
 * The random delays after which this node tries to become the selected node of a claim. Without delays, the processes
 * of all nodes would write to a new claim at once.
 */
export class SelectionDelays {
  readonly #claims = new Map<string, Waiting>()
  readonly #clock: Pick<Clock, 'monotonic' | 'random'>

  constructor(clock: Pick<Clock, 'monotonic' | 'random'>) {
    this.#clock = clock
  }

  /** Returns the milliseconds until this node may select itself for the claim. The first call starts the delay. */
  waitMs(uid: string, { baseDelayMs, maxDelayMs }: Pick<LocalNode, 'baseDelayMs' | 'maxDelayMs'>): number {
    const { attempts, dueAtMs } = this.#claims.get(uid) ?? { attempts: 0, dueAtMs: undefined }
    const now = this.#clock.monotonic()
    if (dueAtMs !== undefined) return Math.max(0, dueAtMs - now)
    const delay = Math.min(baseDelayMs * 2 ** attempts, maxDelayMs)
    const wait = Math.max(0, delay - baseDelayMs * this.#clock.random())
    this.#claims.set(uid, { attempts, dueAtMs: now + wait })
    return wait
  }

  /** Makes the next delay longer, because this attempt has failed. */
  lengthenNext(uid: string): void {
    this.#claims.set(uid, { attempts: (this.#claims.get(uid)?.attempts ?? 0) + 1, dueAtMs: undefined })
  }

  /** Resets the delay of the claim to the first, shortest delay. */
  forget(uid: string): void {
    this.#claims.delete(uid)
  }
}
