import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { classify } from '@csi-sidecars/csi'
import { goQuote, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import { prepareCreate } from './calls.ts'
import type { Phase } from './decide.ts'
import { createInputs } from './inputs.ts'
import type { Taken } from './kinds.ts'
import { answerOf } from './memory.ts'
import { endOrphan } from './orphan.ts'
import { afterProgress, recordFailure, takenStatus } from './record.ts'
import { ContentGoneError, type ContentRun, explain } from './run.ts'
import { writeMark, writeStatus } from './writes.ts'

/**
 * Calls CreateSnapshot, which creates the snapshot or returns whether it is ready. The being-created annotation is
 * present while the driver may have a snapshot whose handle is not stored.
 */
export async function createSnapshot(run: ContentRun, content: Content, phase: Phase): Promise<Outcome> {
  let taken: Taken
  try {
    taken = run.deps.memory.answers.get(content.uid) ?? (await take(run, content))
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof ContentGoneError) return SETTLED
    return await recordFailure(run, content, { phase, error })
  }
  return await keep(run, content, { taken, phase })
}

async function take(run: ContentRun, content: Content): Promise<Taken> {
  const { kind, log, memory } = run.deps
  const { snapshot, content: noun, creation, wrapper, mark } = kind.words
  log.info(`${wrapper}: Creating ${snapshot} for ${noun} ${run.key} through the plugin ...`, UNQUOTED)
  const request = await createInputs(run, content)
  const failing = explain(run, `failed to take ${snapshot} of ${kind.sourceText(content)}`, goQuote)
  const create = await prepareCreate(run, content, request).catch(failing)
  // If the status already has the snapshot's handle, a deletion can use it, so no annotation is needed.
  const isMarked = content.status?.handle === undefined
  if (isMarked) {
    const cannotMark = explain(run, `failed to add ${mark} annotation on the ${noun} ${run.key}`, goQuote)
    await writeMark(run, content, true).catch(cannotMark)
    // The annotation now marks the running creation, so the orphans of deleted contents of this name are obsolete.
    memory.forget(run.key)
  }
  try {
    return await create()
  } catch (error) {
    run.signal.throwIfAborted()
    log.info(`${wrapper}: C${creation.slice(1)} ${run.key} returned error: ${messageOf(error)}`, UNQUOTED)
    if (classify(error).final && (isMarked || content.beingCreated)) {
      await writeMark(run, content, false).catch((cause: unknown) => {
        if (cause instanceof ContentGoneError) memory.noSnapshotOf(content)
        return explain(run, `failed to remove ${mark} annotation from the ${noun} ${run.key}`)(cause)
      })
    }
    return failing(error)
  }
}

/** Stores the answer of the driver in the status, and removes the annotation. */
async function keep(
  run: ContentRun,
  content: Content,
  { taken, phase }: { readonly taken: Taken; readonly phase: Phase },
): Promise<Outcome> {
  const { kind, memory } = run.deps
  let saved: Content | undefined
  memory.answers.set(content.uid, taken)
  try {
    saved = await writeStatus(run, content, { fields: (latest) => takenStatus(kind, taken, latest) })
    memory.answers.delete(content.uid)
    return afterProgress(run, await writeMark(run, saved, false))
  } catch (cause) {
    run.signal.throwIfAborted()
    if (cause instanceof ContentGoneError) {
      memory.answers.delete(content.uid)
      if (content.policy !== 'Delete') return SETTLED
      return await endOrphan(run, memory.foundGone(content, answerOf(taken)))
    }
    // Only the removal of the annotation has failed. For a ready snapshot, the next run repeats only the removal.
    if (saved !== undefined) return { kind: 'retry', cause }
    const what = `error updating status for volume ${kind.words.snapshotContent} ${run.key}`
    const error = new Error(`${what}: ${messageOf(cause)}`, { cause })
    return await recordFailure(run, content, { phase, error })
  }
}
