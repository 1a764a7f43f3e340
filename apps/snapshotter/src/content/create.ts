import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { classify } from '@csi-sidecars/csi'
import { goQuote, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import { prepareCreate } from './calls.ts'
import type { Phase } from './decide.ts'
import { createInputs, rememberedSecrets } from './inputs.ts'
import type { CreateRequest, Taken } from './kinds.ts'
import { afterProgress, recordFailure, takenStatus } from './record.ts'
import { ContentGoneError, type ContentRun, explain } from './run.ts'
import { writeMark, writeStatus } from './writes.ts'

/**
 * Calls CreateSnapshot, which creates the snapshot or returns whether it is ready. The being-created annotation is
 * present while the driver may have a snapshot whose handle is not stored.
 */
export async function createSnapshot(run: ContentRun, content: Content, phase: Phase): Promise<Outcome> {
  const waitMs = deletionWaitMs(run, content)
  if (waitMs > 0) return { kind: 'postponed', ms: waitMs }
  let taken: Taken
  try {
    taken = run.deps.memory.creationOf(content.uid)?.answer ?? (await take(run, content))
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof ContentGoneError) return SETTLED
    return await recordFailure(run, content, { phase, error })
  }
  return await keep(run, content, { taken, phase })
}

/**
 * Returns how long a creation must wait because DeleteSnapshot may still run for an earlier content of the same
 * VolumeSnapshot: the driver could return the snapshot that it is about to delete.
 */
function deletionWaitMs({ deps }: ContentRun, { refUid }: Content): number {
  const { memory, clock, timeoutMs } = deps
  const end = memory.uncertainDeletionEnd(refUid)
  if (end === undefined) return 0
  const waitMs = Math.min(timeoutMs, end + timeoutMs - clock.monotonic())
  if (waitMs <= 0) memory.deletionEnded({ refUid })
  return waitMs
}

async function take(run: ContentRun, content: Content): Promise<Taken> {
  const { kind, log, memory } = run.deps
  const { snapshot, content: noun, creation: creationNoun, wrapper, mark } = kind.words
  log.info(`${wrapper}: Creating ${snapshot} for ${noun} ${run.key} through the plugin ...`, UNQUOTED)
  const request = await requestOf(run, content)
  const failing = explain(run, `failed to take ${snapshot} of ${kind.sourceText(content)}`, goQuote)
  const create = await prepareCreate(run, content, request).catch(failing)
  // If the status already has the snapshot's handle, a deletion can use it, so no annotation is needed.
  const isMarked = content.status?.handle === undefined
  if (isMarked) {
    const cannotMark = explain(run, `failed to add ${mark} annotation on the ${noun} ${run.key}`, goQuote)
    await writeMark(run, content, true).catch(cannotMark)
  }
  if (memory.lostOf(run.key).some((lost) => lost.content.uid === content.uid))
    throw new ContentGoneError(`${run.key} is gone`)
  // The content takes over the snapshot of an earlier content of the same VolumeSnapshot.
  memory.forgetLost(run.key, (lost) => lost.content.refUid === content.refUid)
  const creation = memory.creationBegins(content, request)
  try {
    creation.answer = await create()
    return creation.answer
  } catch (error) {
    run.signal.throwIfAborted()
    log.info(`${wrapper}: C${creationNoun.slice(1)} ${run.key} returned error: ${messageOf(error)}`, UNQUOTED)
    if (classify(error).final) {
      // A snapshot whose handle is stored exists, and was created with the remembered request.
      if (content.status?.handle === undefined) memory.creationEnded(content)
      if (isMarked || content.beingCreated) {
        const cannotUnmark = explain(run, `failed to remove ${mark} annotation from the ${noun} ${run.key}`)
        await writeMark(run, content, false).catch(cannotUnmark)
      }
    }
    return failing(error)
  }
}

/**
 * Returns the request of the creation. Only the Secret of a repeated call may differ from the first call, because a
 * driver refuses a name that it knows with other parameters. A final failure permits another request.
 */
async function requestOf(run: ContentRun, content: Content): Promise<CreateRequest> {
  const creation = run.deps.memory.creationOf(content.uid)
  if (creation === undefined) return await createInputs(run, content)
  return { ...creation.request, secrets: await rememberedSecrets(run, content, creation.request) }
}

/** Stores the answer of the driver in the status, and removes the annotation. */
async function keep(
  run: ContentRun,
  content: Content,
  { taken, phase }: { readonly taken: Taken; readonly phase: Phase },
): Promise<Outcome> {
  const { kind, memory } = run.deps
  let saved: Content | undefined
  try {
    saved = await writeStatus(run, content, { fields: (latest) => takenStatus(kind, taken, latest) })
    memory.answerStored(content, taken.readyToUse)
    return afterProgress(run, await writeMark(run, saved, false))
  } catch (cause) {
    run.signal.throwIfAborted()
    // The event of the deletion enqueues the content, and then the snapshot is deleted or reported.
    if (cause instanceof ContentGoneError) return SETTLED
    // Only the removal of the annotation has failed. For a ready snapshot, the next run repeats only the removal.
    if (saved !== undefined) return { kind: 'retry', cause }
    const what = `error updating status for volume ${kind.words.snapshotContent} ${run.key}`
    const error = new Error(`${what}: ${messageOf(cause)}`, { cause })
    return await recordFailure(run, content, { phase, error })
  }
}
