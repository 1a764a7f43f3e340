import type { Clock } from '@csi-sidecars/base'
import type { LocalNode } from './local-node.ts'

interface Waiting {
  readonly attempts: number
  readonly due: number
}

/**
 * The delays after which this node tries to become the node of a claim. All nodes see a claim at once: without the delays
 * all of them would write to it.
 */
export class Ownership {
  readonly #claims = new Map<string, Waiting>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds until the node may try. The first look at a claim begins the delay. */
  waitMs(uid: string, node: LocalNode): number {
    const { due } = this.#claims.get(uid) ?? this.#begin(uid, 0, node)
    return Math.max(0, due - this.#clock.monotonic())
  }

  /** Another node may have been faster: the next delay is longer. */
  again(uid: string, node: LocalNode): void {
    this.#begin(uid, (this.#claims.get(uid)?.attempts ?? 0) + 1, node)
  }

  forget(uid: string): void {
    this.#claims.delete(uid)
  }

  #begin(uid: string, attempts: number, { baseDelayMs, maxDelayMs }: LocalNode): Waiting {
    const delay = Math.min(baseDelayMs * 2 ** attempts, maxDelayMs)
    const wait = Math.max(0, delay - baseDelayMs * this.#clock.random())
    const waiting = { attempts, due: this.#clock.monotonic() + wait }
    this.#claims.set(uid, waiting)
    return waiting
  }
}
