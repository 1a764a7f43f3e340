import { AGAIN, DONE, type Outcome } from '@csi-sidecars/controller'
import { goQuote } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import { callDelete } from './calls.ts'
import { type DeletionStep, decide, type SnapshotDeletion } from './decide.ts'
import { annotatedSecrets } from './inputs.ts'
import { ContentGoneError, type ContentRun, explain, viewOf, warn } from './run.ts'
import { readContent, removeOurFinalizer, writeStatus } from './writes.ts'

/** Deletes the snapshot, clears the status and removes our finalizer, as far as these steps are due. */
export async function removeSnapshot(
  run: ContentRun,
  content: Content,
  steps: readonly DeletionStep[],
): Promise<Outcome> {
  for (const step of steps) {
    try {
      if (step.do === 'delete') {
        const changed = await deleteAtDriver(run, content, step)
        if (changed !== undefined) return afterChange(run, changed)
        run.deps.memory.snapshotDeleted(content)
      } else if (step.do === 'keepForOther') keepForOther(run, content, step.handle)
      else if (step.do === 'clear') await clear(run, content)
      else await removeOurFinalizer(run, content)
    } catch (error) {
      run.signal.throwIfAborted()
      if (error instanceof ContentGoneError) break
      return { kind: 'retry', cause: error }
    }
  }
  return DONE
}

/** Decides again with the changed content. If the cache does not accept it, waits for the watch or the back-off. */
function afterChange(run: ContentRun, changed: Content): Outcome {
  const cached = run.deps.contents.store.get(run.key)
  if (cached?.resourceVersion === changed.resourceVersion) return AGAIN
  return { kind: 'retry', cause: new Error(`${run.key} has changed`) }
}

/** Deletes the snapshot. If the content has changed so that another step is due, returns the changed content instead. */
async function deleteAtDriver(run: ContentRun, content: Content, step: SnapshotDeletion): Promise<Content | undefined> {
  const { kind } = run.deps
  const { snapshot, content: noun, snapshotContent } = kind.words
  const cannotDelete = `failed to get input parameters to delete ${snapshot} for ${noun} ${run.key}`
  const secrets = await annotatedSecrets(run, content).catch((cause: unknown) => {
    report(run, content, 'Failed to get snapshot credentials')
    return explain(run, cannotDelete, goQuote)(cause)
  })
  const fresh = await readContent(run, content).catch((cause: unknown) => {
    if (!(cause instanceof ContentGoneError)) report(run, content, `Failed to read ${snapshotContent}`)
    return explain(run, `failed to read ${noun} ${run.key} before the deletion of its ${snapshot}`)(cause)
  })
  const due = decide(viewOf(fresh, run.deps)).find((each) => each.do === 'delete')
  const hasSameSecret = fresh.secretName === content.secretName && fresh.secretNamespace === content.secretNamespace
  if (due?.handle !== step.handle || !hasSameSecret) return fresh
  await callDelete(run, { kind: 'content', content: fresh, step: due }, secrets).catch((cause: unknown) => {
    report(run, content, `Failed to delete ${snapshot}`)
    const what = `failed to delete ${snapshot} ${goQuote(run.key)}, err`
    // As in the Go original, only the error about a single snapshot names the content a second time.
    if (!kind.listsSnapshots) return explain(run, what)(cause)
    return explain(run, `${what}: failed to delete snapshot content ${run.key}`, goQuote)(cause)
  })
  return undefined
}

/** Leaves the snapshot to the other content that names it. */
function keepForOther(run: ContentRun, content: Content, handle: string): void {
  const { memory, kind, log } = run.deps
  const { snapshot, snapshotContent } = kind.words
  memory.keepForOther(content)
  const message = `The ${snapshot} ${handle} stays, because another ${snapshotContent} names it`
  log.info(message, { content: run.key })
  warn(run, content, { reason: kind.reasons.shared, message })
}

async function clear(run: ContentRun, content: Content): Promise<void> {
  await writeStatus(run, content, { fields: () => run.deps.kind.clearedStatus }).catch((cause: unknown) => {
    if (!(cause instanceof ContentGoneError)) report(run, content, 'Failed to clear content status')
    throw cause
  })
}

/** Records a Warning event, unless the driver is disconnected. Throws if the run is aborted. */
function report(run: ContentRun, content: Content, message: string): void {
  run.signal.throwIfAborted()
  const { driver, kind } = run.deps
  if (driver.state !== 'lost') warn(run, content, { reason: kind.reasons.delete, message })
}
