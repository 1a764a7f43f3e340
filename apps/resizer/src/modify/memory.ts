import type { Clock } from '@csi-sidecars/base'
import { SlowSet } from '../claim/slow-set.ts'

/**
 * Results of the driver that the API cannot store. They are lost with the process and with leadership, without harm.
 */
export class ModifyMemory {
  /** The claims with a modification that may be running. It must end before a different modification begins. */
  readonly uncertain = new Set<string>()
  readonly slow: SlowSet
  /** The UID of the last reported class of another driver, by claim. */
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
