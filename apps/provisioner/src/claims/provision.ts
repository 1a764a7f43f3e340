import { type Outcome, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { releaseSource } from './content.ts'
import { createVolume } from './create-volume.ts'
import { hasOurFinalizer } from './decide.ts'
import { CLAIM_EVENTS, recordEvent } from './events.ts'
import type { UnsavedVolume } from './memory.ts'
import { withParameterValues } from './patches.ts'
import { prepare, prepareAgain } from './prepare.ts'
import type { PreparedCreation } from './prepared.ts'
import { recordFailure } from './record-failure.ts'
import { type ClaimRun, metricLabelsOf, type ReconcileRun } from './run.ts'
import { finishCreationNowOrLater } from './save.ts'

interface Work {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly mustAddFinalizer: boolean
}

/**
 * Creates the volume of a claim and stores its PersistentVolume. With `--finalize-claims` our finalizer is on the claim
 * before CreateVolume is called, so that a process that starts later knows of the call.
 */
export async function provision(run: ReconcileRun, work: Work): Promise<Outcome> {
  const { deps, signal } = run
  const { claim } = work
  run.stopWaiting()
  const since = deps.clock.monotonic()
  if (deps.memory.shouldRecordBegin(claim.uid)) recordEvent(run, claim, CLAIM_EVENTS.provisioning(claim.key))
  const uncertain = deps.memory.uncertainCalls.get(claim.uid)
  // An earlier process has put the finalizer on the claim, and may have sent another request.
  const mayRepeat = hasOurFinalizer(claim, deps.settings) && !deps.memory.isCreationFinished(claim.uid)
  const isRebuilt = uncertain?.isRebuilt ?? mayRepeat
  const isRepeated = uncertain !== undefined || isRebuilt
  let unsaved: UnsavedVolume
  try {
    const prepared =
      uncertain === undefined ? await prepare(run, claim, work.class) : await prepareAgain(run, uncertain.prepared)
    const isMissing = !(await recordParameters(run, prepared))
    const isGone = isMissing || (work.mustAddFinalizer && !(await addOurFinalizer(run)))
    // An uncertain call is repeated even if the claim is gone.
    if (isGone && uncertain === undefined) return SETTLED
    deps.memory.uncertainCalls.set(claim.uid, { prepared, isRebuilt })
    unsaved = await createVolume(run, prepared)
  } catch (error) {
    signal.throwIfAborted()
    return await recordFailure(run, { ...work, error, isRepeated })
  }
  deps.metrics.creations.succeeded(metricLabelsOf(claim), deps.clock.monotonic() - since)
  deps.refresh?.created(unsaved.pv, work.class.key)
  const stored = await finishCreationNowOrLater(run, unsaved)
  await releaseSource(run, claim)
  return stored === undefined ? WORK_COMPLETED : await recordFailure(run, { ...work, error: stored, isRepeated })
}

/**
 * Puts our finalizer on the claim. Returns false if the claim does not have it afterwards: the claim is gone, is being
 * deleted, or has another selected node.
 */
async function addOurFinalizer({ deps, stored }: ClaimRun): Promise<boolean> {
  const { claimFinalizer: finalizer, node } = deps.settings
  const result = await stored.addFinalizer({ finalizer, node: node?.name })
  return result.kind === 'deleting' ? result.hasFinalizer : result.kind !== 'gone'
}

/**
 * Stores the values in the parameters on the claim. A process that repeats the call after a restart then sends the same
 * request, even if a label has changed. Returns false if the claim is gone.
 */
async function recordParameters(
  run: ClaimRun,
  { claim, valuesAnnotation }: Pick<PreparedCreation, 'claim' | 'valuesAnnotation'>,
): Promise<boolean> {
  if (valuesAnnotation === undefined || claim.requestedVolume?.annotations[PARAMETER_VALUES] === valuesAnnotation)
    return true
  return await run.stored.edit(withParameterValues(valuesAnnotation))
}
