import type { Trigger } from '@csi-sidecars/controller'
import type { Claim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import { type ClaimUpdate, claimTrigger } from '../claim/trigger.ts'

/** Claims, whenever another class may be due. */
export const onClaim = claimTrigger(matters)

/** The claim requests another class than the failed one. */
export const classChanged: Trigger<Claim> = (event) =>
  event.type === 'updated' && event.before.wantedClass !== event.after.wantedClass ? [event.after.key] : []

/** Reports whether this or an earlier process has begun a modification that has not succeeded. */
export function wasTried({ modifying }: Claim): boolean {
  return modifying?.status === MODIFY_STATUS.inProgress || modifying?.status === MODIFY_STATUS.infeasible
}

/** Reports whether the claim requests a new class, or still requests a class after a modification has ended. */
function matters({ before, after }: ClaimUpdate): boolean {
  if (after.phase !== 'Bound') return false
  if (before.wantedClass !== after.wantedClass || before.phase !== after.phase) return true
  return after.modifying === undefined && after.wantedClass !== after.currentClass
}
