import { messageOf } from '@csi-sidecars/base'
import { callFailure, type Outcome, SETTLED } from '@csi-sidecars/controller'
import type { Content } from '../caches/content.ts'
import { decideLost } from './decide-lost.ts'
import { recordDeletionEvent, reportLeft } from './events.ts'
import { repeatedRequest } from './inputs.ts'
import type { DriverSnapshot } from './kinds.ts'
import type { LostContent, SnapshotCreation } from './memory.ts'
import { observeUse } from './observe-lost.ts'
import type { ContentRun } from './run.ts'

/** Settles lost contents of one name. Returns the first outcome that is not settled. */
export async function settleLostContents(
  lostContents: readonly LostContent[],
  newRun: (content: Content) => ContentRun,
): Promise<Outcome | undefined> {
  let unsettled: Outcome | undefined
  for (const lost of lostContents) {
    const outcome = await settleLost(newRun(lost.content), lost)
    if (outcome.kind !== 'settled') unsettled ??= outcome
  }
  return unsettled
}

/**
 * Deletes the snapshot of a lost content if `decideLost` permits it, otherwise reports that the snapshot stays. Does neither
 * if the content exists or another content uses the snapshot.
 */
async function settleLost(run: ContentRun, lost: LostContent): Promise<Outcome> {
  const { memory, driver } = run.deps
  try {
    if (!(await deleteOrReport(run, lost))) return SETTLED
  } catch (error) {
    run.signal.throwIfAborted()
    if (driver.state !== 'lost') {
      const message = `Failed to delete the snapshot of a deleted content: ${messageOf(error)}`
      recordDeletionEvent(run.deps, lost.content, message)
    }
    return { kind: 'retry', cause: error }
  }
  memory.forgetLost(run.key, (each) => each === lost)
  return SETTLED
}

/** Returns false if another content may soon use the snapshot, so that the lost content is not settled. */
async function deleteOrReport(run: ContentRun, lost: LostContent): Promise<boolean> {
  const decision = decideLost(lost)
  const use = await observeUse(run, lost)
  if (decision.kind === 'keep') {
    if (use === 'unused') reportLeft(run.deps, lost, decision.reason)
    return true
  }
  if (use !== 'unused') return use === 'used'
  const { creation } = decision
  creation.answer ??= await repeatCreate(run, creation)
  // After a final failure no snapshot exists.
  if (creation.answer === undefined) return true
  const { secrets } = await repeatedRequest(run, creation)
  const useBeforeCall = await observeUse(run, lost)
  if (useBeforeCall !== 'unused') return useBeforeCall === 'used'
  await run.calls.delete({ kind: 'lost', lost }, secrets)
  const { handle } = creation.answer
  run.deps.log.info('Deleted the snapshot of a content that was gone before', { content: run.key, handle })
  return true
}

/** Repeats the creation, because only its answer contains the handle. Returns undefined after a final failure. */
async function repeatCreate(run: ContentRun, creation: SnapshotCreation): Promise<DriverSnapshot | undefined> {
  const call = await run.calls.prepareCreate(await repeatedRequest(run, creation))
  try {
    return await call()
  } catch (error) {
    if (callFailure(error).isFinal) return undefined
    throw error
  }
}
