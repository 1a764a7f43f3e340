import type { Clock } from '@csi-sidecars/base'
import { EventDeduplicator } from '@csi-sidecars/controller'
import type { ResizerClaim } from '../caches/claim.ts'
import { InfeasibleClaims } from '../claim/infeasible-claims.ts'

/** Results of the driver that are kept in memory only. It does no harm if a restart or a lost Lease drops them. */
export class ResizeMemory {
  /** The claims whose last expansion has failed for good. None is running. */
  readonly finallyFailed = new Set<string>()
  readonly infeasibleClaims: InfeasibleClaims
  /** The events about expansions that did not begin, by the UID of the claim. */
  readonly refusalEvents: EventDeduplicator

  constructor(clock: Clock, infeasibleRetryMs: number) {
    this.infeasibleClaims = new InfeasibleClaims(clock, infeasibleRetryMs)
    this.refusalEvents = new EventDeduplicator({ clock })
  }

  /** Forgets a claim that is gone. */
  forget({ key, uid }: Pick<ResizerClaim, 'key' | 'uid'>): void {
    this.finallyFailed.delete(key)
    this.infeasibleClaims.remove(key)
    this.refusalEvents.forget(uid)
  }
}
