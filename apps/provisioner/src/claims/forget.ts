import { cachedClaim } from './observe.ts'
import type { ClaimDeps } from './run.ts'

/**
 * Ends the use of the source of a claim, and forgets a deleted claim, unless a CreateVolume call may be running. A claim
 * may be deleted during its run, so the end of each run calls this function. Returns true if the claim is forgotten.
 */
export function forgetGone(uid: string, deps: Pick<ClaimDeps, 'claims' | 'memory' | 'uses'>): boolean {
  const { memory, uses } = deps
  if (memory.mayCallStillRun(uid)) return false
  uses.end(uid)
  if (cachedClaim(uid, deps) !== undefined) return false
  memory.forget(uid)
  return true
}
