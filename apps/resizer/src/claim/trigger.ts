import { unreachable } from '@csi-sidecars/base'
import type { Trigger } from '@csi-sidecars/controller'
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
