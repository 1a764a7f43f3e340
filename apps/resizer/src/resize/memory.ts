import type { Clock } from '@csi-sidecars/base'
import { SlowSet } from '../claim/slow-set.ts'

/** What the driver has answered and the API cannot hold. Lost with the process and with leadership, without harm. */
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
