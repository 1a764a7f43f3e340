import type { Clock } from '@csi-sidecars/base'

interface Check {
  readonly node: string
  readonly dueAtMs: number
}

/** The pause between two checks of the same node for a claim. */
const CHECK_INTERVAL_MS = 15 * 60_000

/**
 * The delays after which this process checks whether the selected node of a claim has the driver. The driver of a node
 * that starts registers late, so each check waits. The random part spreads the checks of all processes.
 */
export class NodeDriverChecks {
  readonly #claims = new Map<string, Check>()
  readonly #clock: Pick<Clock, 'monotonic' | 'random'>

  constructor(clock: Pick<Clock, 'monotonic' | 'random'>) {
    this.#clock = clock
  }

  /** Returns the milliseconds until the check of the node. The first call for a node starts the delay. */
  msUntilCheck(uid: string, node: string, afterMs: number): number {
    const check = this.#claims.get(uid)
    if (check?.node === node) return Math.max(0, check.dueAtMs - this.#clock.monotonic())
    return this.#start(uid, node, afterMs)
  }

  /** Starts the pause before the next check of the node. Returns its milliseconds. */
  postpone(uid: string, node: string, afterMs: number): number {
    return this.#start(uid, node, Math.max(CHECK_INTERVAL_MS, afterMs))
  }

  /** Forgets a claim that is gone, or that has no other node. */
  forget(uid: string): void {
    this.#claims.delete(uid)
  }

  /** The number of claims that wait for a check. */
  get size(): number {
    return this.#claims.size
  }

  #start(uid: string, node: string, delayMs: number): number {
    const wait = delayMs * (1 + this.#clock.random())
    this.#claims.set(uid, { node, dueAtMs: this.#clock.monotonic() + wait })
    return wait
  }
}
