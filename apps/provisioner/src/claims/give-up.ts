import type { ProvisionerClaim } from '../caches/claim.ts'
import { volumeNameOf } from '../request/request.ts'
import { hasOurFinalizer } from './decide.ts'
import { CLAIM_EVENTS, recordEventOnce } from './events.ts'
import { cachedClaim } from './observe.ts'
import type { ClaimRun } from './run.ts'

/** A class or a Secret that a user replaces is missing for seconds. */
const MAX_MISSING_MS = 30_000

/**
 * Gives up the creation of a deleted claim if its CreateVolume call could not be repeated for some time: otherwise our
 * finalizer would keep the claim forever. Returns false if the creation is not given up now.
 */
export async function giveUp(run: ClaimRun, claim: ProvisionerClaim, why: string): Promise<boolean> {
  const { deps, log } = run
  const { memory, settings } = deps
  const current = cachedClaim(claim.uid, deps)
  if (current !== undefined && !(current.deleting && hasOurFinalizer(current, settings))) return false
  if (memory.unrepeatableForMs(claim.uid) < Math.min(MAX_MISSING_MS, settings.retryMaxMs)) return false
  const event = CLAIM_EVENTS.orphaned(volumeNameOf(claim.uid, settings), settings.names.driver, why)
  log.warn(event.message)
  recordEventOnce(run, claim, event)
  if (current !== undefined) await run.stored.removeFinalizer({ finalizer: settings.claimFinalizer })
  memory.recordEndOfCall(claim.uid)
  return true
}
