import type { Clock } from '@csi-sidecars/base'
import type { LocalNode } from './local-node.ts'

interface Waiting {
  readonly attempts: number
  /** Undefined until the next look at the claim. */
  readonly due: number | undefined
}

/**
 * The delays after which this node tries to become the node of a claim. All nodes see a claim at once: without the delays
 * all of them would write to it.
 */
export class Ownership {
  readonly #claims = new Map<string, Waiting>()
  readonly #clock: Pick<Clock, 'monotonic' | 'random'>

  constructor(clock: Pick<Clock, 'monotonic' | 'random'>) {
    this.#clock = clock
  }

  /** Milliseconds until the node may try. The first look at a claim begins the delay. */
  waitMs(uid: string, { baseDelayMs, maxDelayMs }: Pick<LocalNode, 'baseDelayMs' | 'maxDelayMs'>): number {
    const { attempts, due } = this.#claims.get(uid) ?? { attempts: 0, due: undefined }
    const now = this.#clock.monotonic()
    if (due !== undefined) return Math.max(0, due - now)
    const delay = Math.min(baseDelayMs * 2 ** attempts, maxDelayMs)
    const wait = Math.max(0, delay - baseDelayMs * this.#clock.random())
    this.#claims.set(uid, { attempts, due: now + wait })
    return wait
  }

  /** The try has failed, perhaps because another node was faster: the next delay is longer. */
  again(uid: string): void {
    this.#claims.set(uid, { attempts: (this.#claims.get(uid)?.attempts ?? 0) + 1, due: undefined })
  }

  /** The next delay is the first one. */
  forget(uid: string): void {
    this.#claims.delete(uid)
  }
}
