import type { Clock } from '@csi-sidecars/base'
import { SlowSet } from '../claim/slow-set.ts'

/** What the driver has answered and the API cannot hold. Lost with the process and with leadership, without harm. */
export class ModifyMemory {
  /** Claims with a modification that may be running: it has to end before another one begins. */
  readonly uncertain = new Set<string>()
  readonly slow: SlowSet
  /** By claim, the uid of the class of another driver that was last reported. */
  readonly reportedClasses = new Map<string, string>()

  constructor(clock: Clock, slowMs: number) {
    this.slow = new SlowSet(clock, slowMs)
  }

  /** The claim is gone. */
  forget(key: string): void {
    this.uncertain.delete(key)
    this.slow.remove(key)
    this.reportedClasses.delete(key)
  }
}
