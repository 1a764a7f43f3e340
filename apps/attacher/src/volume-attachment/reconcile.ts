import { AGAIN, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import { attach } from './attach.ts'
import { detach } from './detach.ts'
import { AttachmentGoneError } from './failure.ts'
import { reconcileLeftBehind } from './left-behind.ts'
import { type AttachmentDeps, type AttachmentRun, isGone, leaveBehind } from './run.ts'

/** One run over an attachment, or over what one that is gone has left behind. */
export async function reconcileAttachment(key: string, deps: AttachmentDeps, own: Run): Promise<Outcome> {
  const { memory } = deps
  const { signal } = own
  const leftBehind = memory.published.leftBehind(key)
  if (leftBehind !== undefined) return await reconcileLeftBehind(leftBehind, deps, own)
  const log = deps.log.with({ VolumeAttachment: key })
  const cached = deps.attachments.store.get(key)
  if (cached !== undefined && memory.isGone(cached)) {
    if (await isGone(cached, deps, signal)) return SETTLED
    memory.clearGone(key)
  }
  // The volume has changed since, and calls for it wait in another line. What follows looks at the caches at once.
  if (!deps.isPlaced(key)) return AGAIN
  const view = await deps.observe(key, memory.takeForce(key), signal)
  if (view === undefined) {
    memory.forget(key)
    log.v(3)?.info('VolumeAttachment was deleted, ignoring')
    return SETTLED
  }
  log.v(4)?.info('Started VolumeAttachment processing')
  const run: AttachmentRun = { ...own, key, deps, log, va: view.va }
  const outcome = await (view.va.deleting ? detach(run, view) : attach(run, view)).catch(gone(run))
  log.v(4)?.info('CSIHandler: finished processing', { outcome: outcome.kind })
  if (isKnown(run)) return outcome
  // Its end may have been seen before the publish was sent.
  leaveBehind(run)
  // Its failure says nothing of an attachment that was made again under its name, so that one's back-off is its own.
  return outcome.kind === 'retry' || outcome.kind === 'blocked' ? { kind: 'again', cause: outcome.cause } : outcome
}

/** The end of a run whose attachment has gone: there is nothing left to write to, or it is another's. */
function gone(run: AttachmentRun): (error: unknown) => Outcome {
  return (error) => {
    if (!(error instanceof AttachmentGoneError)) throw error
    const { key, deps, log, va } = run
    log.v(3)?.info('VolumeAttachment was deleted, ignoring')
    run.waitFor()
    deps.memory.clearStatusPending(key)
    if (isKnown(run)) deps.memory.markGone(va)
    leaveBehind(run)
    return SETTLED
  }
}

function isKnown({ key, deps, va }: AttachmentRun): boolean {
  return deps.attachments.store.get(key)?.uid === va.uid
}
