import { unreachable } from '@csi-sidecars/base'
import { objectOf, type QueueTrigger, type Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Claim } from '../caches/claim.ts'

export type ClaimUpdate = InformerEvent<Claim> & { readonly type: 'updated' }

/** Claims that are new, and those whose updates matter. Whose they are shows only with their volume. */
export function claimTrigger(matters: (update: ClaimUpdate) => boolean): Trigger<Claim> {
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
 * Skips unchanged claims at rest. At a start and at a resync nearly all claims are at rest, and their runs would take
 * half of the start's CPU time.
 */
export function unlessAtRest(trigger: QueueTrigger<Claim>, isAtRest: (claim: Claim) => boolean): QueueTrigger<Claim> {
  return (event, queue) => {
    const isUnchanged = event.type === 'added' || (event.type === 'updated' && event.cause === 'resync')
    return isUnchanged && isAtRest(objectOf(event)) ? [] : trigger(event, queue)
  }
}
