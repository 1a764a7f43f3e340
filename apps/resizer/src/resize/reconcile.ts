import { messageOf, unreachable } from '@csi-sidecars/base'
import { callFailure, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'
import { type Patch, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { isStillCached, patchClaim, patchFailureText } from '../claim/api.ts'
import { recordEvent } from '../claim/events.ts'
import { type ClaimBeginning, reconcileClaim } from '../claim/reconcile.ts'
import { newRun, priorityOf } from '../claim/run.ts'
import type { ResizerWakeKind } from '../claim/wake-events.ts'
import { decideResize, type ResizeStep } from './decide.ts'
import { RESIZE_EVENTS } from './events.ts'
import { type Expanded, expandVolume } from './expand.ts'
import type { InUseRefusals } from './in-use.ts'
import { observeResize, type ResizeView } from './observe.ts'
import { recordFailure } from './record-failure.ts'
import { recordSuccess } from './record-success.ts'
import type { ControllerExpansion } from './run.ts'
import { type ResizeDeps, type ResizeRun, resizeFailed } from './run.ts'
import { isRuleOfOldServer } from './target.ts'

export function reconcileResize(key: string, deps: ResizeDeps, controllerRun: Run<ResizerWakeKind>): Promise<Outcome> {
  const run: ResizeRun = newRun(key, deps, controllerRun)
  run.log.v(4)?.info('Started PVC processing for resize controller')
  return reconcileClaim(run, {
    observe: () => observeResize(key, deps, controllerRun.signal),
    begin: (view: ResizeView) => begin(run, view, decideResize(view)),
    wrapBeginError: (cause) => {
      return new Error(`marking pvc "${key}" as resizing failed: ${patchFailureText(key, cause)}`, { cause })
    },
    perform: (expansion: ControllerExpansion) => expand(run, expansion),
    forget: (claim) => {
      deps.memory.forget(claim)
      deps.inUse?.forget(claim)
    },
  })
}

async function begin(
  run: ResizeRun,
  view: ResizeView,
  steps: readonly ResizeStep[],
): Promise<ClaimBeginning<ControllerExpansion>> {
  const { deps, key, log } = run
  for (const step of steps) {
    switch (step.kind) {
      case 'dropPreResize': {
        const failure = await dropPreResize(run, view, step.patch)
        if (failure !== undefined) return { outcome: failure }
        break
      }
      case 'backOff':
        deps.memory.infeasibleClaims.add(key)
        break
      case 'start':
        return await recordStart(run, view, step)
      case 'noop':
        if (step.waitsFor !== undefined) run.waitFor(step.waitsFor)
        deps.inUse?.stopWaiting(view.claim)
        if (step.rule !== undefined && isRuleOfOldServer(step.rule)) warnOfOldServer(run)
        log.v(4)?.info(step.why)
        return { outcome: SETTLED }
      case 'postpone':
        deps.inUse?.stopWaiting(view.claim)
        log
          .v(4)
          ?.info(`skipping volume expansion for pvc ${key}, because expansion previously failed with infeasible error`)
        return { outcome: { kind: 'postponed', ms: step.ms } }
      case 'reject':
        return { outcome: reject(run, view, step) }
      case 'fail':
        run.waitFor(step.waitsFor)
        return { outcome: { kind: 'retry', cause: new Error(step.message) } }
      default:
        unreachable(step)
    }
  }
  throw new Error('the plan of a resize has no end')
}

async function recordStart(
  run: ResizeRun,
  view: ResizeView,
  step: ResizeStep & { kind: 'start' },
): Promise<ClaimBeginning<ControllerExpansion>> {
  const { deps, key } = run
  const { volume } = view
  if (volume === undefined) throw new Error(`an expansion of ${key} without its volume`)
  run.stopWaiting()
  if (deps.driver?.lost === true) return { outcome: { kind: 'retry', cause: new Error('the CSI driver is away') } }
  if (step.rule !== undefined && isRuleOfOldServer(step.rule)) warnOfOldServer(run)
  deps.notifyCallStarted(key)
  const claim = await patchClaim(run, step.patch, priorityOf(run))
  return { work: { claim, before: view.claim, volume, target: step.target } }
}

/** Removes the annotation with the old size. If that fails, the run ends: an expansion would keep the annotation. */
async function dropPreResize(run: ResizeRun, { volume }: ResizeView, patch: Patch): Promise<Outcome | undefined> {
  const { deps, signal } = run
  const name = volume?.key ?? ''
  try {
    deps.volumes.storeAnswer(await deps.api.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
    return undefined
  } catch (cause) {
    signal.throwIfAborted()
    const failedStep = 'failed removing annotation volume.alpha.kubernetes.io/pre-resize-capacity from pv'
    const why = `update capacity of PV ${name} failed: ${messageOf(cause)}`
    return { kind: 'retry', cause: new Error(`${failedStep} "${name}": ${why}`, { cause }) }
  }
}

function reject(
  run: ResizeRun,
  { claim }: ResizeView,
  { message, waitsFor }: ResizeStep & { kind: 'reject' },
): Outcome {
  run.waitFor(waitsFor)
  const text = resizeFailed(run, claim.volumeName, message)
  run.log.error(new Error(text), 'PVC cannot be resized')
  recordRefusal(run, claim, RESIZE_EVENTS.failed(text))
  return SETTLED
}

async function expand(run: ResizeRun, expansion: ControllerExpansion): Promise<Outcome> {
  const { deps, signal } = run
  const { api, driver, inUse, settings } = deps
  const { claim, volume } = expansion
  if (inUse?.wasRefused(claim) === true && (await inUse.isUsed(claim, signal))) return recordInUse(run, claim)
  deps.memory.refusalEvents.forget(claim.uid)
  recordEvent(run, claim, RESIZE_EVENTS.started(volume.key))
  inUse?.removeRefusal(claim)
  let expanded: Expanded
  try {
    expanded = await expandVolume(expansion, { api, driver, driverName: settings.driverName }, signal)
  } catch (error) {
    const outcome = await recordFailure(run, expansion, error)
    return inUse === undefined ? outcome : await retrySoonerWhileInUse(run, inUse, { claim, outcome })
  }
  inUse?.forget(claim)
  run.log.v(4)?.info("Resize volume succeeded, start to update PV's capacity", { PV: volume.key })
  return await recordSuccess(run, expansion, expanded)
}

/** Shortens the pause before the next try if no pod uses the volume, because the volume will soon be detached. */
async function retrySoonerWhileInUse(
  run: ResizeRun,
  inUse: InUseRefusals,
  { claim, outcome }: { readonly claim: ResizerClaim; readonly outcome: Outcome },
): Promise<Outcome> {
  if (!inUse.wasRefused(claim) || !isStillCached(run, claim)) {
    inUse.stopWaiting(claim)
    return outcome
  }
  const afterMs = await inUse.pauseAfterRefusal(claim, run.signal)
  // A pause that the driver asks for takes precedence.
  return outcome.kind === 'retry' && callFailure(outcome.cause).pauseMs === 0 ? { ...outcome, afterMs } : outcome
}

function recordInUse(run: ResizeRun, claim: ResizerClaim): Outcome {
  const { key, deps } = run
  const text = RESIZE_EVENTS.inUse(key, deps.settings.driverName)
  recordRefusal(run, claim, text)
  return { kind: 'retry', cause: new Error(text.message) }
}

/** Records an event about an expansion that did not begin, once for each cause. */
function recordRefusal(run: ResizeRun, claim: ResizerClaim, text: EventText): void {
  if (run.deps.memory.refusalEvents.shouldRecord(claim.uid, text.message)) recordEvent(run, claim, text)
}

function warnOfOldServer({ log }: ResizeRun): void {
  log.warn(
    'external-resizer may be running with older version of kubernetes api-server, please upgrade to k8s version 1.32',
  )
}
