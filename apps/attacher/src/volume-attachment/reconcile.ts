import { AGAIN, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import type { Attachment } from '../caches/attachment.ts'
import { undoneWaitMs } from '../term/undone-write.ts'
import { attach } from './attach.ts'
import { detach } from './detach.ts'
import { AttachmentGoneError } from './failure.ts'
import { keepAttached } from './keep-attached.ts'
import type { AttachmentView } from './observe.ts'
import { reconcileOrphanedPublication } from './orphaned-publications.ts'
import { type AttachmentDeps, type AttachmentRun, isGone, orphanPublications } from './run.ts'

/** One run over an attachment, or over an orphaned publication. */
export async function reconcileAttachment(key: string, deps: AttachmentDeps, own: Run): Promise<Outcome> {
  const { memory } = deps
  const { signal } = own
  const orphaned = memory.orphanedPublication(key)
  if (orphaned !== undefined) return await reconcileOrphanedPublication(orphaned, deps, own)
  const log = deps.log.with({ VolumeAttachment: key })
  const cached = deps.attachments.store.get(key)
  if (cached !== undefined && memory.of(cached).gone) {
    if (await isGone(cached, deps, signal)) return SETTLED
    memory.note(cached, { gone: false })
  }
  // The volume has changed since, and calls for it have another placement. What follows looks at the caches at once.
  if (!deps.placementUnchanged(key)) return AGAIN
  const afterMs = cached === undefined ? 0 : undoneWait(cached, deps)
  if (afterMs > 0) return { kind: 'postponed', ms: afterMs }
  const view = await deps.observe(key, signal)
  if (view === undefined) {
    log.v(3)?.info('VolumeAttachment was deleted, ignoring')
    return SETTLED
  }
  log.v(4)?.info('Started VolumeAttachment processing')
  const run: AttachmentRun = { ...own, key, deps, log, va: view.va }
  const outcome = await perform(run, view)
    .catch(gone(run))
    .finally(() => {
      // The cache may have seen the end of the attachment during the run.
      if (!isKnown(run)) for (const orphan of memory.forget(run.va)) deps.enqueue(orphan)
    })
  if (outcome.kind === 'settled') memory.note(view.va, { listing: undefined })
  log.v(4)?.info('CSIHandler: finished processing', { outcome: outcome.kind })
  if (isKnown(run)) return outcome
  // Its failure says nothing of an attachment that was recreated under its name, so that one's back-off is its own.
  return outcome.kind === 'retry' || outcome.kind === 'blocked' ? { kind: 'superseded', cause: outcome.cause } : outcome
}

function perform(run: AttachmentRun, view: AttachmentView): Promise<Outcome> {
  if (view.va.deleting) return detach(run, view)
  return view.va.attached === true && !view.forced ? keepAttached(run, view) : attach(run, view)
}

/** How long what another writer undoes again and again is left as it is; a detach never waits for that. */
function undoneWait(va: Attachment, { memory, finalizer, clock }: AttachmentDeps): number {
  if (va.deleting) return 0
  const { statusReverted, finalizerRemoved } = memory.of(va)
  return Math.max(
    va.attached === true ? 0 : undoneWaitMs(statusReverted, clock),
    va.finalizers?.includes(finalizer) ? 0 : undoneWaitMs(finalizerRemoved, clock),
  )
}

/** The end of a run whose attachment has gone: there is nothing left to write to, or it is another's. */
function gone(run: AttachmentRun): (error: unknown) => Outcome {
  return (error) => {
    if (!(error instanceof AttachmentGoneError)) throw error
    const { deps, log, va } = run
    log.v(3)?.info('VolumeAttachment was deleted, ignoring')
    run.waitFor()
    deps.memory.note(va, { statusPending: false, gone: true })
    orphanPublications(run)
    return SETTLED
  }
}

function isKnown({ key, deps, va }: AttachmentRun): boolean {
  return deps.attachments.store.get(key)?.uid === va.uid
}
