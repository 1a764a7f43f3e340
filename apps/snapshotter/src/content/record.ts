import { errorChain, messageOf } from '@csi-sidecars/base'
import { AGAIN, DONE, failureLog, type Outcome } from '@csi-sidecars/controller'
import { RpcError } from '@csi-sidecars/csi'
import { rfc3339 } from '@csi-sidecars/kube-types'
import { UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import { isToBeDeleted, type Phase } from './decide.ts'
import type { Kind, Taken } from './kinds.ts'
import { ContentGoneError, type ContentRun, warn } from './run.ts'
import { newest, writeStatus } from './writes.ts'

/** The reason of a retry: the driver has the snapshot, but it is not ready to use. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError'
}

/** Returns the status fields that the driver's answer changes. Stored handles, times and sizes stay. */
export function takenStatus(kind: Kind, taken: Taken, { status }: Content): object {
  const { handle, readyToUse } = taken
  const becomesReady = readyToUse && status?.ready !== true
  return {
    ...(status?.handle === undefined && { [kind.handleField]: handle }),
    ...(status?.ready !== readyToUse && { readyToUse }),
    ...kind.addedStatus(taken, status),
    ...(becomesReady && status?.hasError === true && { error: null }),
  }
}

/** Returns the next step after the answer of the driver is stored. */
export function afterProgress(run: ContentRun, content: Content): Outcome {
  const latest = newest(run, content)
  if (isToBeDeleted(latest)) return AGAIN
  if (latest.status?.ready !== true)
    return { kind: 'retry', cause: new NotReadyError('the snapshot is not ready to use') }
  return DONE
}

/** Reports a failed creation or check in the status and by an event, once for each message. Returns when to retry. */
export async function recordFailure(
  run: ContentRun,
  content: Content,
  { phase, error }: { readonly phase: Phase; readonly error: unknown },
): Promise<Outcome> {
  const { deps } = run
  const { kind, driver, clock, log } = deps
  // A lost connection to the driver says nothing about the snapshot. All contents are retried after the reconnect.
  if (driver.state === 'lost') return { kind: 'retry', cause: error }
  const { snapshot, snapshotContent } = kind.words
  const what = phase === 'create' ? `Failed to create ${snapshot}` : `Failed to check and update ${snapshotContent}`
  const message = `${what}: ${messageOf(error)}`
  if (newest(run, content).status?.errorMessage !== message) {
    const stored = { readyToUse: false, error: { time: rfc3339(clock.now()), message } }
    const fields = ({ status }: Content): object => (status?.errorMessage === message ? {} : stored)
    try {
      await writeStatus(run, content, { fields, priority: run.retrying ? 'low' : undefined })
    } catch (failure) {
      run.signal.throwIfAborted()
      if (failure instanceof ContentGoneError) return { kind: 'retry', cause: error }
      log.v(4)?.info('The error could not be stored', { content: run.key, err: failure })
    }
    warn(run, newest(run, content), { reason: kind.reasons[phase], message })
  }
  const { creation, check, wrapper } = kind.words
  const occurred = `[${run.key}]: error occurred`
  const line = phase === 'create' ? `${creation} ${occurred} in ${wrapper}:` : `${check} ${occurred}`
  failureLog(error, log)?.error(undefined, `${line} ${messageOf(error)}`, UNQUOTED)
  // A creation that has finally failed does not block a requested deletion. The deletion follows at once.
  if (isToBeDeleted(newest(run, content))) return { kind: 'superseded', cause: error }
  return { kind: 'retry', cause: error, afterMs: retryAfterOf(error) }
}

/** Returns the milliseconds that the driver asks to wait before a retry. */
function retryAfterOf(error: unknown): number | undefined {
  for (const cause of errorChain(error)) if (cause instanceof RpcError) return cause.retryAfterMs
  return undefined
}
