import { unreachable } from '@csi-sidecars/base'
import { type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import { isConflict, isMissing } from '@csi-sidecars/kube-client'
import { claimRef } from '../caches/claim.ts'
import {
  CONFLICT_TRIES,
  confirmLastWrite,
  isKnown,
  newRun,
  patchClaim,
  priorityOf,
  readClaim,
  recordEvent,
} from '../claim/run.ts'
import { decideModify, type ModifyStep } from './decide.ts'
import { MODIFY_EVENTS } from './events.ts'
import { type ModifyView, observeModify } from './observe.ts'
import { cannotMark, recordFailure, recordSuccess } from './record.ts'
import { modifyRequest } from './request.ts'
import type { Modification, ModifyDeps, ModifyRun } from './run.ts'

type Beginning = { readonly modification: Modification } | { readonly end: Outcome }

/** One run over one claim, in the same three parts as a resize: mark the beginning, call the driver, record the result. */
export async function reconcileModify(key: string, deps: ModifyDeps, own: Run): Promise<Outcome> {
  const run: ModifyRun = newRun(key, deps, own)
  run.log.v(4)?.info('Started PVC processing for modify controller')
  const beginning = await deps.mutex.run(key, own.signal, () => begin(run))
  if ('end' in beginning) return beginning.end
  try {
    return await modify(run, beginning.modification)
  } finally {
    // Whatever the run has learned about a claim that was deleted meanwhile must not count for a later one of its name.
    if (!isKnown(run, beginning.modification.claim)) deps.memory.forget(key)
  }
}

/** Looks at the claim again as long as others change it between our look and our write. */
async function begin(run: ModifyRun): Promise<Beginning> {
  const { key, signal } = run
  const unread = await confirmLastWrite(run)
  if (unread !== undefined) return { end: { kind: 'retry', cause: unread } }
  for (let left = CONFLICT_TRIES; ; left -= 1) {
    const view = observeModify(key, run.deps)
    if (view === undefined) {
      run.log.v(3)?.info('PVC is deleted or does not exist')
      return { end: SETTLED }
    }
    try {
      return await performBeginning(run, view, decideModify(view))
    } catch (error) {
      signal.throwIfAborted()
      if (isMissing(error) && !isKnown(run, view.claim)) return { end: SETTLED }
      if (isConflict(error) && left > 1) await readClaim(run)
      else return { end: { kind: 'retry', cause: cannotMark(key, error) } }
    }
  }
}

async function performBeginning(run: ModifyRun, view: ModifyView, steps: readonly ModifyStep[]): Promise<Beginning> {
  const { deps, key, log } = run
  let { claim } = view
  for (const step of steps) {
    switch (step.do) {
      case 'skip': {
        const message = `skipping volume modification for pvc ${key}, because modification previously failed with infeasible error`
        log.v(4)?.info(message)
        return { end: { kind: 'retry', cause: new Error(message) } }
      }
      case 'speedUp':
        deps.memory.slow.remove(key)
        break
      case 'noop':
        if (step.waitsFor !== undefined) run.waitFor(step.waitsFor)
        log.v(4)?.info(step.why)
        return { end: SETTLED }
      case 'cancel':
        recordEvent(run, claim, MODIFY_EVENTS.cancelled())
        await patchClaim(run, step.patch)
        return { end: SETTLED }
      case 'stall':
        run.waitFor(step.waitsFor)
        recordEvent(run, claim, MODIFY_EVENTS.noClass(step.className))
        return { end: { kind: 'retry', cause: new Error(step.message) } }
      case 'pend':
        // Before the patch: the class may come while it is under way.
        run.waitFor(step.waitsFor)
        recordEvent(run, claim, MODIFY_EVENTS.noClass(step.className))
        if (step.patch !== undefined) await patchClaim(run, step.patch)
        return { end: SETTLED }
      case 'reportDriver': {
        const { target, volumeDriver } = step
        deps.memory.reportedClasses.set(key, target.uid)
        const drivers = { VolumeAttributesClass: target.key, classDriver: target.driverName, volumeDriver }
        log.warn('VolumeAttributesClass is for another driver', drivers)
        recordEvent(run, claim, MODIFY_EVENTS.driverMismatch(target, volumeDriver))
        break
      }
      case 'start': {
        const away = whileAway(run)
        if (away !== undefined) return away
        deps.notifyCallStarted(key)
        claim = await patchClaim(run, step.patch, priorityOf(run))
        recordEvent(run, claim, MODIFY_EVENTS.started(claimRef(claim).name, step.className))
        break
      }
      case 'modify':
        return whileAway(run) ?? { modification: { claim, volume: step.volume, target: step.target } }
      case 'fail':
        run.waitFor(step.waitsFor)
        return { end: { kind: 'retry', cause: new Error(step.message) } }
      default:
        unreachable(step)
    }
  }
  throw new Error('the plan of a modification has no end')
}

/** A modification that cannot be called now is not begun either. */
function whileAway(run: ModifyRun): Beginning | undefined {
  run.waitFor()
  if (!run.deps.driver.lost) return undefined
  return { end: { kind: 'retry', cause: new Error('the CSI driver is away') } }
}

async function modify(run: ModifyRun, modification: Modification): Promise<Outcome> {
  const { deps, signal } = run
  try {
    const { api, extraMetadata } = deps
    run.enter('deciding')
    const request = await modifyRequest(modification, { api, extraMetadata }, signal)
    run.enter('calling')
    await deps.driver.modify(request, { signal })
  } catch (error) {
    return await recordFailure(run, modification, error)
  }
  return await recordSuccess(run, modification)
}
