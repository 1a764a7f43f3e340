import type { Clock } from '@csi-sidecars/base'
import { EventDeduplicator } from '@csi-sidecars/controller'
import type { ResizerClaim } from '../caches/claim.ts'
import { InfeasibleClaims } from '../claim/infeasible-claims.ts'

/** Results of the driver that are kept in memory only. It does no harm if a restart or a lost Lease drops them. */
export class ModifyMemory {
  /** The claims whose modification may be running. A different one must not begin. */
  readonly uncertain = new Set<string>()
  readonly infeasibleClaims: InfeasibleClaims
  /** The events about classes of other drivers, by the UID of the claim. Their messages are the UIDs of the classes. */
  readonly foreignClasses: EventDeduplicator

  constructor(clock: Clock, infeasibleRetryMs: number) {
    this.infeasibleClaims = new InfeasibleClaims(clock, infeasibleRetryMs)
    this.foreignClasses = new EventDeduplicator({ clock })
  }

  /** Forgets a claim that is gone. */
  forget({ key, uid }: Pick<ResizerClaim, 'key' | 'uid'>): void {
    this.uncertain.delete(key)
    this.infeasibleClaims.remove(key)
    this.foreignClasses.forget(uid)
  }
}
