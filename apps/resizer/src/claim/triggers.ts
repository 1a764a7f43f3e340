import { unreachable } from '@csi-sidecars/base'
import { objectOf, type QueueTrigger, type Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'

export type ClaimUpdate = InformerEvent<ResizerClaim> & { readonly type: 'updated' }

/** Returns a trigger for new claims and relevant updates, whichever driver the volume belongs to. */
export function claimTrigger(matters: (update: ClaimUpdate) => boolean): Trigger<ResizerClaim> {
  return (event) => {
    switch (event.type) {
      case 'added':
        return [event.object.key]
      case 'deleted':
        return []
      case 'updated':
        return matters(event) ? [event.after.key] : []
      default:
        return unreachable(event)
    }
  }
}

/**
 * Returns a trigger that skips claims without pending work at the start and at a resync. Runs for them would take half
 * of the CPU time of a start.
 */
export function unlessAtRest(
  trigger: QueueTrigger<ResizerClaim>,
  isAtRest: (claim: ResizerClaim) => boolean,
): QueueTrigger<ResizerClaim> {
  return (event, queue) => {
    const isUnchanged = event.type === 'added' || (event.type === 'updated' && event.origin === 'resync')
    return isUnchanged && isAtRest(objectOf(event)) ? [] : trigger(event, queue)
  }
}
