import { unreachable } from '@csi-sidecars/base'
import { type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import { namespacedRef } from '@csi-sidecars/kube-types'
import { objectRef } from '@csi-sidecars/telemetry'
import { classNameOf } from '../caches/claim.ts'
import type { ClaimWakeKind } from '../request/wake-events.ts'
import { type ClaimView, decideClaim, type ProvisionStep } from './decide.ts'
import { CLAIM_EVENTS, recordEventOnce } from './events.ts'
import { forgetGone } from './forget.ts'
import { giveUp } from './give-up.ts'
import { observeClaim } from './observe.ts'
import { provision } from './provision.ts'
import { recordFailure } from './record-failure.ts'
import { rescheduleWithoutDriver } from './reschedule.ts'
import { type ClaimDeps, metricLabelsOf, newRun, type ReconcileRun } from './run.ts'
import { selectThisNode } from './select-node.ts'

/** Decides the next steps of one claim, and performs them. */
export async function reconcileClaim(uid: string, deps: ClaimDeps, run: Run<ClaimWakeKind>): Promise<Outcome> {
  try {
    return await perform(uid, deps, run)
  } finally {
    deps.memory.recordRun(uid)
    // A claim that was deleted during the run waits for nothing.
    if (forgetGone(uid, deps)) run.stopWaiting()
  }
}

/** Performs the steps in their order, up to a step that ends the run. */
async function perform(uid: string, deps: ClaimDeps, controllerRun: Run<ClaimWakeKind>): Promise<Outcome> {
  const view = observeClaim(uid, deps)
  if (view === undefined) return SETTLED
  const { claim } = view
  const log = deps.log.with({ PVC: objectRef(namespacedRef(claim.key)), StorageClass: classNameOf(claim) })
  const run = newRun(claim, { deps, log, controllerRun })
  const steps = decideClaim(view)
  if (!steps.some(({ kind }) => kind === 'checkNode')) deps.memory.nodeChecks.forget(uid)
  for (const step of steps) {
    const outcome = await performStep(run, view, step)
    if (outcome !== undefined) return outcome
  }
  return SETTLED
}

/** Returns the outcome that ends the run. Undefined if the next step follows. */
async function performStep(run: ReconcileRun, view: ClaimView, step: ProvisionStep): Promise<Outcome | undefined> {
  const { deps, log } = run
  const { claim } = view
  switch (step.kind) {
    case 'nothing':
      if (step.waitsFor !== undefined) run.waitFor(step.waitsFor)
      log.v(4)?.info(`Nothing to provision: ${step.why}`)
      if (!view.hasUnsavedVolume) deps.memory.recordEndOfCall(claim.uid)
      return undefined
    case 'release':
      run.stopWaiting()
      log.v(4)?.info(`Removing the finalizer: ${step.why}`)
      deps.memory.recordFinished(claim.uid)
      await run.stored.removeFinalizer({ finalizer: deps.settings.claimFinalizer })
      return undefined
    case 'pause':
      run.waitFor({ kind: 'class', name: classNameOf(claim) })
      log.v(4)?.info('Skipping the claim because provisioning previously failed with infeasible error')
      return { kind: 'postponed', ms: step.ms }
    case 'fail':
      run.waitFor(step.waitsFor)
      deps.metrics.creations.failed(metricLabelsOf(claim))
      if (step.report) recordEventOnce(run, claim, CLAIM_EVENTS.failed(step.message))
      if (await giveUp(run, claim, step.message)) return SETTLED
      return { kind: 'retry', cause: new Error(step.message) }
    case 'selectNode':
      run.waitFor({ kind: 'class', name: classNameOf(claim) })
      return await selectThisNode(run, { claim, class: step.class, node: step.node }).catch((error: unknown) => {
        run.signal.throwIfAborted()
        return recordFailure(run, { claim, class: step.class, error, isRepeated: false })
      })
    case 'checkNode':
      run.stopWaiting()
      deps.memory.recordEndOfCall(claim.uid)
      return await rescheduleWithoutDriver(run, {
        claim,
        node: step.node,
        afterMs: step.afterMs,
        volumeName: view.volumeName,
      })
    case 'provision':
      return await provision(run, { claim, class: step.class, mustAddFinalizer: step.mustAddFinalizer })
    default:
      return unreachable(step)
  }
}
