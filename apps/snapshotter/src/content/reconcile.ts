import { unreachable } from '@csi-sidecars/base'
import { type Outcome, type Run, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import type { Content } from '../caches/content.ts'
import { checkSnapshot } from './check.ts'
import { createSnapshot } from './create.ts'
import { type ContentStep, decide, isDeletionStep } from './decide.ts'
import { clearStatus, deleteSnapshot, keepForOther } from './delete.ts'
import { ContentGoneError } from './failure.ts'
import { settleLostContents } from './lost.ts'
import { observe } from './observe.ts'
import { outcomeOf } from './outcome.ts'
import { type ContentDeps, type ContentRun, type ContentWakeKind, newRun } from './run.ts'

/** Handles the lost contents with this name. Then decides the next steps of the content, and performs them. */
export async function reconcile(key: string, deps: ContentDeps, controllerRun: Run<ContentWakeKind>): Promise<Outcome> {
  controllerRun.stopWaiting()
  const runOf = (content: Content): ContentRun => newRun(content, deps, controllerRun)
  const unsettled = await settleLostContents(deps.memory.lostOf(key), runOf)
  const content = deps.contents.store.get(key)
  if (content === undefined) return unsettled ?? SETTLED
  const steps = decide(observe(content, deps))
  const outcome = await perform(runOf(content), steps)
  const mayWait = outcome.kind === 'settled' || outcome.kind === 'postponed'
  return mayWait ? (unsettled ?? outcome) : outcome
}

/** Performs the steps in their order, up to a step that ends the run. */
async function perform(run: ContentRun, steps: readonly ContentStep[]): Promise<Outcome> {
  if (steps.length === 0) return SETTLED
  const isDeletion = steps.some(isDeletionStep)
  try {
    for (const step of steps) {
      const outcome = await performStep(run, step)
      if (outcome !== undefined) return outcome
    }
    return isDeletion ? WORK_COMPLETED : outcomeOf(run.stored.newest)
  } catch (cause) {
    run.signal.throwIfAborted()
    if (!(cause instanceof ContentGoneError)) return { kind: 'retry', cause }
    return isDeletion ? WORK_COMPLETED : SETTLED
  }
}

/** Returns the outcome that ends the run. Undefined if the next step follows. */
async function performStep(run: ContentRun, step: ContentStep): Promise<Outcome | undefined> {
  switch (step.kind) {
    case 'create':
      return await createSnapshot(run, step.phase)
    case 'check':
      return await checkSnapshot(run)
    case 'awaitHandles':
      run.waitFor(step.waitsFor)
      return SETTLED
    case 'removeBeingCreated':
      await run.stored.setBeingCreated(false)
      return undefined
    case 'delete':
      return await deleteSnapshot(run, step)
    case 'keepForOther':
      keepForOther(run, step.handle)
      return undefined
    case 'clearStatus':
      await clearStatus(run)
      return undefined
    case 'removeFinalizer':
      await run.stored.removeOurFinalizer()
      return undefined
    default:
      return unreachable(step)
  }
}
