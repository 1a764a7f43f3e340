import { messageOf } from '@csi-sidecars/base'
import { type CallFailure, callFailure, type Outcome, type WakeEvent } from '@csi-sidecars/controller'
import { AttachmentGoneError, concernsVolume, OperationError } from './failure.ts'
import { attachErrorPatch, detachErrorPatch } from './patches.ts'
import type { AttachmentRun } from './run.ts'
import type { AttachStep, DetachStep } from './steps.ts'
import type { AttachmentWakeEvent } from './wake-events.ts'

type Operation = 'attach' | 'detach'
/** The failed operation. A blocked detach whose error is in the status waits for an event, and not for a back-off. */
type Attempt = Operation | 'blocked detach'

/**
 * Sets the events that the key waits for. Call it before the steps are performed: a missing object may appear while
 * they run. A refused publish waits for a detach from another node, until the next publish is sent.
 */
export function waitForCause(run: AttachmentRun, steps: readonly (AttachStep | DetachStep)[]): void {
  const last = steps.at(-1)
  if ((last?.kind === 'fail' || last?.kind === 'block') && last.waitsFor !== undefined) run.waitFor(last.waitsFor)
  else if (last?.kind === 'publish') run.waitFor(...run.waitedFor.filter(isUnpublishOf(last.request.volumeId)))
  else run.stopWaiting()
}

function isUnpublishOf(volumeId: string): (event: WakeEvent) => event is AttachmentWakeEvent<'unpublish'> {
  return (event): event is AttachmentWakeEvent<'unpublish'> => event.kind === 'unpublish' && event.name === volumeId
}

/** Records the failure in the status, and returns the outcome that retries the run. */
export async function recordFailure(run: AttachmentRun, attempt: Attempt, error: unknown): Promise<Outcome> {
  // A shutdown or a lost lease has cancelled the run. That is no failure of the volume, and the next leader tries
  // again.
  run.signal.throwIfAborted()
  if (error instanceof AttachmentGoneError) throw error
  const { memory, finalizer, driver } = run.deps
  const operation = attempt === 'attach' ? attempt : 'detach'
  const failure = callFailure(error, { driverLost: driver.lost })
  const recorded = concernsVolume(error, failure) && (await recordError(run, operation, failure))
  const cause = new OperationError(`failed to ${operation}: ${failure.message}`, { cause: error })
  // An earlier attach may have set `attached` in the status. `different` makes the next run publish again.
  const { attached, deleting, finalizers } = run.stored.newest
  if (operation === 'attach' && attached === true && !deleting) memory.update(run.va, { listing: 'different' })
  // A detach that only has to write the status needs no volume, so it is retried.
  const needsVolume = finalizers?.includes(finalizer) || memory.recordOf(run.va).listing === 'different'
  if (attempt === 'blocked detach' && recorded && needsVolume) return { kind: 'blocked', cause }
  return { kind: 'retry', cause }
}

async function recordError(run: AttachmentRun, operation: Operation, failure: CallFailure): Promise<boolean> {
  const { deps } = run
  const now = deps.clock.now()
  run.log.v(4)?.info(`Saving ${operation} error`)
  const code = deps.recordErrorCode ? failure.status?.code : undefined
  try {
    await run.stored.writeStatus(
      (va) =>
        operation === 'attach'
          ? attachErrorPatch(va, { message: failure.message, code }, now)
          : detachErrorPatch(va, failure, now),
      run.stored.priorityOf(operation),
    )
    run.log.v(4)?.info(`Saved ${operation} error`)
    return true
  } catch (error) {
    run.signal.throwIfAborted()
    run.log.v(2)?.info(`Failed to save ${operation} error to VolumeAttachment`, { err: messageOf(error) })
    if (error instanceof AttachmentGoneError) throw error
    return false
  }
}
