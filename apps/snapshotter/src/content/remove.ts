import { DONE, type Outcome } from '@csi-sidecars/controller'
import { goQuote } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import { callDelete } from './calls.ts'
import type { DeletionStep } from './decide.ts'
import { annotatedSecrets } from './inputs.ts'
import { ContentGoneError, type ContentRun, explain, warn } from './run.ts'
import { removeFinalizer, writeStatus } from './writes.ts'

/** Deletes the snapshot, clears the status and removes our finalizer, as far as these steps are due. */
export async function removeSnapshot(
  run: ContentRun,
  content: Content,
  steps: readonly DeletionStep[],
): Promise<Outcome> {
  for (const step of steps) {
    try {
      if (step.do === 'delete') {
        await deleteAtDriver(run, content, step)
        run.deps.memory.noSnapshotOf(content)
      } else if (step.do === 'clear') await clear(run, content)
      else await removeFinalizer(run, content)
    } catch (error) {
      run.signal.throwIfAborted()
      if (error instanceof ContentGoneError) break
      return { kind: 'retry', cause: error }
    }
  }
  return DONE
}

async function deleteAtDriver(
  run: ContentRun,
  content: Content,
  { handle, members }: Extract<DeletionStep, { readonly do: 'delete' }>,
): Promise<void> {
  const { kind } = run.deps
  const { snapshot, content: noun } = kind.words
  const cannotRead = `failed to get input parameters to delete ${snapshot} for ${noun} ${run.key}`
  const secrets = await annotatedSecrets(run, content).catch((cause: unknown) => {
    report(run, content, 'Failed to get snapshot credentials')
    return explain(run, cannotRead, goQuote)(cause)
  })
  await callDelete(run, { content, handle, members }, secrets).catch((cause: unknown) => {
    report(run, content, `Failed to delete ${snapshot}`)
    const what = `failed to delete ${snapshot} ${goQuote(run.key)}, err`
    // As in the Go original, only the error about a single snapshot names the content a second time.
    if (!kind.listsSnapshots) return explain(run, what)(cause)
    return explain(run, `${what}: failed to delete snapshot content ${run.key}`, goQuote)(cause)
  })
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
