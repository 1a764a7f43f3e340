import { messageOf, unreachable } from '@csi-sidecars/base'
import { AGAIN, failureLog, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { PERSISTENT_VOLUME_CLAIMS, referenceTo, withoutFinalizer } from '@csi-sidecars/kube-types'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import { creationNodeOf, type ProvisionerClaim, selectedNode } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { isLasting } from '../request/failure.ts'
import { PopulatorError } from '../sources/data-source.ts'
import type { ClaimEdit } from '../stored-claim.ts'
import { hasOurFinalizer } from './decide.ts'
import { decideFailure, type FailureStep } from './decide-failure.ts'
import { CLAIM_EVENTS, recordEventOnce } from './events.ts'
import { type CreationFailure, creationFailure, isAlreadyExists } from './failure.ts'
import { giveUp } from './give-up.ts'
import { cachedClaim } from './observe.ts'
import { withoutSelectedNode } from './patches.ts'
import { type ClaimRun, metricLabelsOf, type ReconcileRun } from './run.ts'

interface FailedAttempt {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly error: unknown
  /** True if the outcome of an earlier CreateVolume call for the claim was unknown at the start of the try. */
  readonly isRepeated: boolean
}

/** The states of a creation as the log of the Go provisioner names them. */
const STATE_NAMES = { unchanged: 'NoChange', background: 'Background', final: 'Finished', reschedule: 'Reschedule' }

/** Records a failed attempt to create a volume. Performs the steps of `decideFailure` in their order. */
export async function recordFailure(run: ReconcileRun, failed: FailedAttempt): Promise<Outcome> {
  const { deps } = run
  const { claim, class: storageClass, error, isRepeated } = failed
  const { memory, settings, driver } = deps
  const mayReschedule = settings.topology && creationNodeOf(claim) !== ''
  const failure = creationFailure(error, { mayReschedule, isRepeated })
  const steps = decideFailure({
    failure,
    className: storageClass.key,
    isPopulated: error instanceof PopulatorError,
    isOtherRequest: isRepeated && isAlreadyExists(error) && memory.uncertainCalls.get(claim.uid)?.isRebuilt === true,
    isLasting: isLasting(error),
    driverLost: driver.lost,
    hasSelectedNode: selectedNode(claim) !== undefined,
  })
  if (failure.isAnswered) logAnswer(run, claim, { failure, mayReschedule })
  deps.metrics.creations.failed(metricLabelsOf(claim))
  for (const step of steps) {
    const outcome = await performStep(run, failed, { step, failure })
    if (outcome !== undefined) return outcome
  }
  return { kind: 'retry', cause: error }
}

interface PlannedStep {
  readonly step: FailureStep
  readonly failure: CreationFailure
}

/** Returns the outcome that ends the run. Undefined if the next step follows. */
async function performStep(
  run: ReconcileRun,
  { claim, class: storageClass, error }: FailedAttempt,
  { step, failure }: PlannedStep,
): Promise<Outcome | undefined> {
  const { deps, log } = run
  const { memory } = deps
  const { isInfeasible, message } = failure
  switch (step.kind) {
    case 'ignore':
      return ignore(run, claim, message)
    case 'wait':
      run.waitFor(...step.waitsFor)
      return undefined
    case 'report':
      failureLog(error, log)?.error(error, 'Failed to provision volume')
      recordEventOnce(run, claim, isInfeasible ? CLAIM_EVENTS.infeasible(message) : CLAIM_EVENTS.failed(message))
      return undefined
    case 'refreshCapacity':
      deps.refresh?.failed(storageClass.key)
      return undefined
    case 'forgetRequest':
      memory.uncertainCalls.delete(claim.uid)
      return undefined
    case 'giveUp':
      return (await giveUp(run, claim, message)) ? SETTLED : undefined
    case 'endCreation':
      memory.recordFinished(claim.uid)
      return undefined
    case 'release': {
      const isReleased = await release(run, claim, step)
      if (cachedClaim(claim.uid, deps) === undefined) return SETTLED
      return isReleased ? undefined : { kind: 'retry', cause: error }
    }
    case 'retry':
      return { kind: 'retry', cause: error }
    case 'reschedule':
      log.v(2)?.info('Volume rescheduled because', { err: error })
      return AGAIN
    case 'pause':
      memory.pauseClaim(claim.uid, storageClass.uid)
      run.waitFor(step.waitsFor)
      return { kind: 'postponed', ms: memory.pausedForMs(claim.uid, storageClass.uid) }
    default:
      return unreachable(step)
  }
}

function logAnswer(
  { deps, log }: ClaimRun,
  claim: ProvisionerClaim,
  { failure, mayReschedule }: { readonly failure: CreationFailure; readonly mayReschedule: boolean },
): void {
  const { topology } = deps.settings
  const inputs = `supports topology = ${topology}, node selected ${creationNodeOf(claim)} => may reschedule = ${mayReschedule}`
  const state = STATE_NAMES[failure.state]
  log.v(5)?.info(`CreateVolume failed, ${inputs} => state = ${state}: ${failure.message}`, UNQUOTED)
}

/** Records that a volume populator, not this provisioner, creates the volume. */
function ignore({ deps, log }: ClaimRun, claim: ProvisionerClaim, reason: string): Outcome {
  log.v(4)?.info('Volume provision ignored', { reason })
  const text = CLAIM_EVENTS.populator()
  if (deps.memory.shouldRecord(claim.uid, text.message))
    deps.populatorRecorder.event(referenceTo(PERSISTENT_VOLUME_CLAIMS, claim), text)
  return SETTLED
}

/** Removes our finalizer from the claim, the selected node, or both. Returns false if the write fails. */
async function release(
  run: ClaimRun,
  claim: ProvisionerClaim,
  { isEnded, reschedules }: FailureStep & { kind: 'release' },
): Promise<boolean> {
  const { settings } = run.deps
  const current = cachedClaim(claim.uid, run.deps) ?? claim
  const releases: ClaimEdit = (pvc) => withoutFinalizer(pvc, settings.claimFinalizer)
  const removals = isEnded && hasOurFinalizer(current, settings) ? [releases] : []
  const edits = reschedules ? [...removals, withoutSelectedNode] : removals
  if (edits.length === 0) return true
  try {
    await run.stored.edit((pvc) => edits.reduce((edited, change) => change(edited), pvc))
    return true
  } catch (error) {
    run.signal.throwIfAborted()
    run.log.info('Volume rescheduling failed', { err: messageOf(error) })
    return false
  }
}
