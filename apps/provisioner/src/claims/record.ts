import { messageOf } from '@csi-sidecars/base'
import { AGAIN, failureLog, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo, withoutFinalizer } from '@csi-sidecars/kube-types'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import { nodeOfRequest, type ProvisionerClaim, selectedNode } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import type { ClaimEdit } from '../edit.ts'
import { isLasting } from '../request/failure.ts'
import { PopulatorError } from '../sources/data-source.ts'
import { isMarked } from './decide.ts'
import { CLAIM_EVENTS, recordEventOnce } from './events.ts'
import { creationFailure, isAlreadyExists } from './failure.ts'
import { giveUp } from './give-up.ts'
import { cachedClaim } from './observe.ts'
import { withoutSelectedNode } from './patches.ts'
import { type ClaimRun, edit, labelsOf, type ReconcileRun } from './run.ts'

interface FailedTry {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly error: unknown
  /** True if the outcome of an earlier CreateVolume call for the claim was unknown at the start of the try. */
  readonly isRepeated: boolean
}

/** The states of a creation as the log of the original names them. */
const STATE_NAMES = { unchanged: 'NoChange', background: 'Background', final: 'Finished', reschedule: 'Reschedule' }

/** Records a failed attempt to create a volume, and decides when to retry. */
export async function recordFailure(run: ReconcileRun, failed: FailedTry): Promise<Outcome> {
  const { deps, log } = run
  const { claim, class: storageClass, error, isRepeated } = failed
  const { memory, settings, driver } = deps
  if (error instanceof PopulatorError) return ignore(run, claim, error)
  const node = nodeOfRequest(claim)
  const mayReschedule = settings.topology && node !== ''
  const failure = creationFailure(error, { mayReschedule, isRepeated })
  const { state, answered, infeasible, message } = failure
  if (answered) {
    const what = `supports topology = ${settings.topology}, node selected ${node} => may reschedule = ${mayReschedule}`
    log.v(5)?.info(`CreateVolume failed, ${what} => state = ${STATE_NAMES[state]}: ${message}`, UNQUOTED)
  }
  deps.metrics.creations.failed(labelsOf(claim))
  // Before the call, the class may be the cause: users correct it by deleting and recreating it.
  const classes = state === 'unchanged' ? [{ kind: 'class', name: storageClass.key } as const] : []
  run.waitFor(...failure.waitsFor, ...classes)
  if (state !== 'background' || !driver.lost) {
    failureLog(error, log)?.error(error, 'Failed to provision volume')
    recordEventOnce(run, claim, infeasible ? CLAIM_EVENTS.infeasible(message) : CLAIM_EVENTS.failed(message))
  }
  if (state !== 'unchanged') deps.refresh?.failed(storageClass.key)
  const retry: Outcome = { kind: 'retry', cause: error }
  const isRefused = isRepeated && isAlreadyExists(error) && memory.inProgress.get(claim.uid)?.isRebuilt === true
  // The driver has another request for the volume. The next try follows the class, which may be as before then.
  if (isRefused) {
    memory.inProgress.delete(claim.uid)
    run.waitFor({ kind: 'class', name: storageClass.key })
  }
  const cannotRepeat = isRefused || (!answered && isLasting(error))
  if (cannotRepeat && (await giveUp(run, claim, message))) return SETTLED
  if (state === 'background' || state === 'unchanged') return retry
  if (answered) memory.ended(claim.uid)
  const reschedules = state === 'reschedule' && selectedNode(claim) !== undefined
  const isReleased = await release(run, claim, { ended: answered, reschedules })
  if (cachedClaim(claim.uid, deps) === undefined) return SETTLED
  if (!isReleased) return retry
  if (reschedules) {
    log.v(2)?.info('Volume rescheduled because', { err: error })
    return AGAIN
  }
  if (!infeasible) return retry
  memory.pause(claim.uid, storageClass.uid)
  run.waitFor({ kind: 'class', name: storageClass.key })
  return { kind: 'postponed', ms: memory.pausedForMs(claim.uid, storageClass.uid) }
}

/** Records that a volume populator, not this provisioner, creates the volume. */
function ignore({ deps, log }: ClaimRun, claim: ProvisionerClaim, error: PopulatorError): Outcome {
  log.v(4)?.info('Volume provision ignored', { reason: error.message })
  deps.metrics.creations.failed(labelsOf(claim))
  const text = CLAIM_EVENTS.populator()
  if (deps.memory.shouldRecord(claim.uid, text.message))
    deps.populatorRecorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), text)
  return SETTLED
}

interface Release {
  /** True if the creation has ended. False if a call of an earlier process may still be running. */
  readonly ended: boolean
  /** True if another node may succeed. */
  readonly reschedules: boolean
}

/** Removes our finalizer from the claim, the selected node, or both. Returns false if the write fails. */
async function release(run: ClaimRun, claim: ProvisionerClaim, { ended, reschedules }: Release): Promise<boolean> {
  const { settings } = run.deps
  const current = cachedClaim(claim.uid, run.deps) ?? claim
  const releases: ClaimEdit = (pvc) => withoutFinalizer(pvc, settings.claimFinalizer)
  const marks = ended && isMarked(current, settings) ? [releases] : []
  const edits = reschedules ? [...marks, withoutSelectedNode] : marks
  if (edits.length === 0) return true
  try {
    await edit(run, claim, (pvc) => edits.reduce((edited, change) => change(edited), pvc))
    return true
  } catch (error) {
    run.signal.throwIfAborted()
    run.log.info('Volume rescheduling failed', { err: messageOf(error) })
    return false
  }
}
