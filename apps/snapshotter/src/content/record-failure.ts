import { messageOf } from '@csi-sidecars/base'
import { failureLog, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import { isToBeDeleted, type Phase } from './decide.ts'
import { CONTENT_EVENTS, recordEvent } from './events.ts'
import { ContentGoneError } from './failure.ts'
import type { ContentKind } from './kinds.ts'
import { failureStatus } from './patches.ts'
import type { ContentRun } from './run.ts'

/**
 * Reports a failed creation or check in the status and by an event, once for each message. Returns when to retry. The
 * event of the deletion enqueues a content that is gone, and then the snapshot is deleted or reported.
 */
export async function recordFailure(run: ContentRun, phase: Phase, error: unknown): Promise<Outcome> {
  run.signal.throwIfAborted()
  if (error instanceof ContentGoneError) return SETTLED
  const { deps, key, stored } = run
  const { kind, driver, log } = deps
  // A lost connection to the driver says nothing about the snapshot. All contents are retried after the reconnect.
  if (driver.state === 'lost') return { kind: 'retry', cause: error }
  const message = `${whatFailed(kind, phase)}: ${messageOf(error)}`
  if (stored.newest.status?.errorMessage !== message) {
    const isGone = await storeMessage(run, message)
    if (isGone) return { kind: 'retry', cause: error }
    recordEvent(deps, stored.newest, CONTENT_EVENTS.failed(kind, phase, message))
  }
  failureLog(error, log)?.error(undefined, `${logPrefix(kind, phase, key)} ${messageOf(error)}`, UNQUOTED)
  // A creation that has finally failed does not block a requested deletion. The deletion follows at once.
  if (isToBeDeleted(stored.newest)) return { kind: 'superseded', cause: error }
  return { kind: 'retry', cause: error }
}

/** Writes the message to the status. A failed write is only logged. Returns true if the content is gone. */
async function storeMessage({ deps, key, signal, stored, retrying }: ContentRun, message: string): Promise<boolean> {
  const { clock, log } = deps
  try {
    const nowMs = clock.now()
    const priority = retrying ? 'low' : undefined
    await stored.writeStatus((latest) => failureStatus(message, nowMs, latest), { priority })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ContentGoneError) return true
    log.v(4)?.info('The error could not be stored', { content: key, err: error })
  }
  return false
}

function whatFailed({ texts }: ContentKind, phase: Phase): string {
  return phase === 'create'
    ? `Failed to create ${texts.snapshot}`
    : `Failed to check and update ${texts.snapshotContent}`
}

function logPrefix({ texts }: ContentKind, phase: Phase, key: string): string {
  const occurred = `[${key}]: error occurred`
  return phase === 'create' ? `${texts.creation} ${occurred} in ${texts.wrapper}:` : `${texts.check} ${occurred}`
}
