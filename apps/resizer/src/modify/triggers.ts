import { type ClaimUpdate, claimTrigger } from '../claim-trigger.ts'

/** Claims, whenever another class may be due. */
export const onClaim = claimTrigger(matters)

/**
 * A claim that wants another class than before, or that has just come to the end of a modification and wants yet
 * another one.
 */
function matters({ before, after }: ClaimUpdate): boolean {
  if (after.phase !== 'Bound') return false
  if (before.wantedClass !== after.wantedClass || before.phase !== after.phase) return true
  return after.modifying === undefined && after.wantedClass !== after.currentClass
}
