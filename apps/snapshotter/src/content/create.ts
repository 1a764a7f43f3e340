import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { classify } from '@csi-sidecars/csi'
import { goQuote } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import { prepareCreate } from './calls.ts'
import type { Phase } from './decide.ts'
import { createInputs } from './inputs.ts'
import type { Taken } from './kinds.ts'
import { endOrphan } from './orphan.ts'
import { afterProgress, recordFailure, takenStatus } from './record.ts'
import { ContentGoneError, type ContentRun } from './run.ts'
import { cannotUpdate, writeMark, writeStatus } from './writes.ts'

/**
 * Creates the snapshot of a content, or asks by the same call whether it is ready. The order is a promise: annotation,
 * call, status, annotation removed. So each content of which the driver may have a snapshot shows it.
 */
export async function createSnapshot(run: ContentRun, content: Content, phase: Phase): Promise<Outcome> {
  let taken: Taken
  try {
    taken = await take(run, content)
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof ContentGoneError) return SETTLED
    return await recordFailure(run, content, { phase, error })
  }
  return await keep(run, content, { taken, phase })
}

async function take(run: ContentRun, content: Content): Promise<Taken> {
  const { kind, log } = run.deps
  const { snapshot, content: noun, wrapper } = kind.words
  log.info(`${wrapper}: Creating ${snapshot} for ${noun} ${run.key} through the plugin ...`)
  const request = await createInputs(run, content)
  const failed = `failed to take ${snapshot} of ${kind.sourceText(content)}`
  const create = await prepareCreate(run, content, request).catch(quoting(failed))
  // A snapshot whose handle is stored is no secret: its deletion uses the handle.
  const marked = content.status?.handle === undefined ? await mark(run, content) : content
  try {
    return await create()
  } catch (error) {
    run.signal.throwIfAborted()
    if (classify(error).final) await unmarkFailed(run, marked)
    return quoting(failed)(error)
  }
}

async function mark(run: ContentRun, content: Content): Promise<Content> {
  const { mark: annotation, content: noun } = run.deps.kind.words
  try {
    return await writeMark(run, content, true)
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof ContentGoneError) throw error
    const what = `failed to add ${annotation} annotation on the ${noun} ${run.key}`
    throw new Error(`${what}: ${goQuote(cannotUpdate(run.key, error))}`, { cause: error })
  }
}

/** The creation has failed for sure. */
async function unmarkFailed(run: ContentRun, content: Content): Promise<void> {
  const { mark: annotation, content: noun } = run.deps.kind.words
  try {
    await writeMark(run, content, false)
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof ContentGoneError) {
      run.deps.memory.noSnapshotOf(content)
      throw error
    }
    const what = `failed to remove ${annotation} annotation from the ${noun} ${run.key}`
    throw new Error(`${what}: ${cannotUpdate(run.key, error)}`, { cause: error })
  }
}

/** Stores the answer of the driver and removes the annotation. */
async function keep(
  run: ContentRun,
  content: Content,
  { taken, phase }: { readonly taken: Taken; readonly phase: Phase },
): Promise<Outcome> {
  const { kind } = run.deps
  let saved: Content
  try {
    saved = await writeStatus(run, content, { fields: (latest) => takenStatus(kind, taken, latest) })
  } catch (cause) {
    run.signal.throwIfAborted()
    if (cause instanceof ContentGoneError) return await keptBy(run, content, taken)
    const what = `error updating status for volume ${kind.words.snapshotContent} ${run.key}`
    const error = new Error(`${what}: ${cannotUpdate(run.key, cause)}`, { cause })
    return await recordFailure(run, content, { phase, error })
  }
  try {
    saved = await writeMark(run, saved, false)
  } catch (cause) {
    run.signal.throwIfAborted()
    if (cause instanceof ContentGoneError) return await keptBy(run, content, taken)
    // The snapshot is stored. The next run repeats the removal alone if the snapshot is ready.
    return { kind: 'retry', cause }
  }
  return afterProgress(run, saved)
}

/** The content was gone before its creation ended. */
async function keptBy(run: ContentRun, content: Content, { handle, members }: Taken): Promise<Outcome> {
  if (content.policy !== 'Delete') return SETTLED
  const answer = { handle, members: members.map(({ snapshotId }) => snapshotId) }
  return await endOrphan(run, run.deps.memory.foundGone(content, answer))
}

/** For `catch`: the cause in quotes after `what`. */
function quoting(what: string): (cause: unknown) => never {
  return (cause) => {
    throw new Error(`${what}: ${goQuote(messageOf(cause))}`, { cause })
  }
}
