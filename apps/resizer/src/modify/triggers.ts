import { unreachable } from '@csi-sidecars/base'
import type { Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Claim } from '../caches/claim.ts'

/** Claims, whenever another class may be due. Whose they are shows only with their volume. */
export const onClaim: Trigger<Claim> = (event) => {
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

/**
 * A claim that wants another class than before, or that has just come to the end of a modification and wants yet
 * another one.
 */
function matters({ before, after }: InformerEvent<Claim> & { type: 'updated' }): boolean {
  if (after.phase !== 'Bound') return false
  if (before.wantedClass !== after.wantedClass || before.phase !== after.phase) return true
  return after.modifying === undefined && after.wantedClass !== after.currentClass
}
