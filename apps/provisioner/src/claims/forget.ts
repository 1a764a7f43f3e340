import { cachedClaim } from './observe.ts'
import type { ClaimDeps } from './run.ts'

/**
 * Ends the use of the source of a claim, and forgets a deleted claim, unless a CreateVolume call may be running. A claim
 * may be deleted during its run, so the end of each run calls this function.
 */
export function forgetGone(uid: string, deps: Pick<ClaimDeps, 'claims' | 'memory' | 'awaited' | 'uses'>): void {
  const { memory, awaited, uses } = deps
  if (memory.follows(uid)) return
  uses.end(uid)
  if (cachedClaim(uid, deps) !== undefined) return
  memory.forget(uid)
  awaited.forget(uid)
}
