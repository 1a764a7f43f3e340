import { AGAIN, type Outcome } from '@csi-sidecars/controller'
import { goQuote } from '@csi-sidecars/telemetry'
import { decide, type SnapshotDeletion } from './decide.ts'
import { CONTENT_EVENTS, recordDeletionEvent, recordEvent } from './events.ts'
import { ContentGoneError, rethrowAs } from './failure.ts'
import { readAnnotatedSecrets } from './inputs.ts'
import { observe } from './observe.ts'
import type { ContentRun } from './run.ts'

/**
 * Deletes the snapshot. If the content has changed so that another step must come, returns the outcome that decides
 * again.
 */
export async function deleteSnapshot(run: ContentRun, step: SnapshotDeletion): Promise<Outcome | undefined> {
  const { deps, content, key, stored } = run
  const { kind, memory } = deps
  const { snapshot, content: noun, snapshotContent } = kind.texts
  const inputsFailed = rethrowAs(`failed to get input parameters to delete ${snapshot} for ${noun} ${key}`, goQuote)
  const secrets = await readAnnotatedSecrets(run).catch((cause: unknown) => {
    recordDeletionFailure(run, 'Failed to get snapshot credentials')
    return inputsFailed(cause)
  })
  const readFailed = rethrowAs(`failed to read ${noun} ${key} before the deletion of its ${snapshot}`)
  const fresh = await stored.read().catch((cause: unknown) => {
    if (!(cause instanceof ContentGoneError)) recordDeletionFailure(run, `Failed to read ${snapshotContent}`)
    return readFailed(cause)
  })
  const deletion = decide(observe(fresh, deps)).find((each) => each.kind === 'delete')
  const hasSameSecret = fresh.secretName === content.secretName && fresh.secretNamespace === content.secretNamespace
  if (deletion?.handle !== step.handle || !hasSameSecret) {
    // If the cache does not accept the changed content, the watch or the back-off starts the next run.
    const isCached = deps.contents.store.get(key)?.resourceVersion === fresh.resourceVersion
    return isCached ? AGAIN : { kind: 'retry', cause: new Error(`${key} has changed`) }
  }
  await run.calls.delete({ kind: 'content', content: fresh, step: deletion }, secrets).catch((cause: unknown) => {
    recordDeletionFailure(run, `Failed to delete ${snapshot}`)
    const failedStep = `failed to delete ${snapshot} ${goQuote(key)}, err`
    // As in the Go snapshotter, only the error about a single snapshot names the content a second time.
    if (!kind.listsSnapshots) return rethrowAs(failedStep)(cause)
    return rethrowAs(`${failedStep}: failed to delete snapshot content ${key}`, goQuote)(cause)
  })
  memory.recordSnapshotDeletion(content)
  return undefined
}

/** Leaves the snapshot to the other content that names it. */
export function keepForOther({ deps, content, key }: ContentRun, handle: string): void {
  deps.memory.recordKeptForOther(content)
  const event = CONTENT_EVENTS.shared(deps.kind, handle)
  deps.log.info(event.message, { content: key })
  recordEvent(deps, content, event)
}

/** Removes the fields of the deleted snapshot from the status. */
export async function clearStatus(run: ContentRun): Promise<void> {
  await run.stored
    .writeStatus(() => run.deps.kind.clearedStatus)
    .catch((cause: unknown) => {
      if (!(cause instanceof ContentGoneError)) recordDeletionFailure(run, 'Failed to clear content status')
      throw cause
    })
}

/** Records a Warning event, unless the driver is disconnected. Throws if the run is aborted. */
function recordDeletionFailure({ deps, content, signal }: ContentRun, message: string): void {
  signal.throwIfAborted()
  if (deps.driver.state !== 'lost') recordDeletionEvent(deps, content, message)
}
