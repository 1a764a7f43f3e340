import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { CachedAttachment } from '../caches/attachment.ts'
import { undoneWaitMs } from '../term/undone-write.ts'
import { attach } from './attach.ts'
import { decide } from './decide.ts'
import { detach, keepAttached } from './detach.ts'
import { AttachmentGoneError } from './failure.ts'
import type { AttachmentView } from './observe.ts'
import { orphanPublications, reconcileOrphanedPublication } from './orphaned-publications.ts'
import { waitForCause } from './record-failure.ts'
import { type AttachmentDeps, type AttachmentRun, newRun } from './run.ts'
import type { AttachmentWakeKind } from './wake-events.ts'

/** Attaches, detaches or maintains one attachment, or unpublishes a volume without an attachment. */
export async function reconcileAttachment(
  key: string,
  deps: AttachmentDeps,
  controllerRun: Run<AttachmentWakeKind>,
): Promise<Outcome> {
  const { memory } = deps
  const orphaned = memory.orphanedPublication(key)
  if (orphaned !== undefined) return await reconcileOrphanedPublication(orphaned, deps, controllerRun)
  const cached = deps.attachments.store.get(key)
  if (cached !== undefined && memory.recordOf(cached).isGone) {
    if (await newRun(cached, deps, controllerRun).stored.isGone()) return SETTLED
    memory.update(cached, { isGone: false })
  }
  // A changed volume has other limits, so the key is queued again. An `await` before `observe` would hide a change.
  if (!deps.placementUnchanged(key)) return AGAIN
  const afterMs = cached === undefined ? 0 : waitAfterUndoneWrite(cached, deps)
  if (afterMs > 0) return { kind: 'postponed', ms: afterMs }
  const view = await deps.observe(key, controllerRun.signal)
  if (view === undefined) {
    deps.log.v(3)?.info('VolumeAttachment was deleted, ignoring', { VolumeAttachment: key })
    return SETTLED
  }
  const run = newRun(view.va, deps, controllerRun)
  run.log.v(4)?.info('Started VolumeAttachment processing')
  const outcome = await perform(run, view)
    .catch(settleIfGone(run))
    .finally(() => {
      // If the attachment was deleted during the run, the volumes that are still published for it are unpublished.
      if (run.stored.hasLeftCache) for (const orphan of memory.forget(run.va)) deps.enqueue(orphan)
    })
  if (outcome.kind === 'settled') memory.update(view.va, { listing: undefined })
  run.log.v(4)?.info('CSIHandler: finished processing', { outcome: outcome.kind })
  if (!run.stored.hasLeftCache) return outcome
  // A recreated attachment starts with a fresh back-off.
  return outcome.kind === 'retry' || outcome.kind === 'blocked' ? { kind: 'superseded', cause: outcome.cause } : outcome
}

function perform(run: AttachmentRun, view: AttachmentView): Promise<Outcome> {
  const plan = decide(view)
  if (plan.operation !== 'keep') waitForCause(run, plan.steps)
  switch (plan.operation) {
    case 'attach':
      return attach(run, { view, steps: plan.steps })
    case 'detach':
      return detach(run, plan.steps)
    case 'keep':
      return keepAttached(run, plan.steps)
    default:
      return unreachable(plan)
  }
}

/** Returns the pause before a write that other writers undo repeatedly. A detach never waits for it. */
function waitAfterUndoneWrite(va: CachedAttachment, { memory, finalizer, clock }: AttachmentDeps): number {
  if (va.deleting) return 0
  const { statusReverted, finalizerRemoved } = memory.recordOf(va)
  return Math.max(
    va.attached === true ? 0 : undoneWaitMs(statusReverted, clock),
    va.finalizers?.includes(finalizer) ? 0 : undoneWaitMs(finalizerRemoved, clock),
  )
}

/** Returns a handler that ends the run of an attachment that is gone. */
function settleIfGone(run: AttachmentRun): (error: unknown) => Outcome {
  return (error) => {
    if (!(error instanceof AttachmentGoneError)) throw error
    const { deps, log, va } = run
    log.v(3)?.info('VolumeAttachment was deleted, ignoring')
    run.stopWaiting()
    deps.memory.update(va, { mustWriteStatus: false, isGone: true })
    orphanPublications(run)
    return SETTLED
  }
}
