import type { Clock } from '@csi-sidecars/base'
import { SlowSet } from '../claim/slow-set.ts'

/**
 * Results of the driver that the API cannot store. They are lost with the process and with leadership, without harm.
 */
export class ResizeMemory {
  /** Claims whose last expansion has failed for good: no earlier one can still be running. */
  readonly finallyFailed = new Set<string>()
  readonly slow: SlowSet

  constructor(clock: Clock, slowMs: number) {
    this.slow = new SlowSet(clock, slowMs)
  }

  /** The claim is gone. */
  forget(key: string): void {
    this.finallyFailed.delete(key)
    this.slow.remove(key)
  }
}
