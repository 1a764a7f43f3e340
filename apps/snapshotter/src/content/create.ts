import { messageOf } from '@csi-sidecars/base'
import { callFailure, type Outcome } from '@csi-sidecars/controller'
import { goQuote, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Phase } from './decide.ts'
import { ContentGoneError, OutdatedRequestError, rethrowAs } from './failure.ts'
import { prepareCreation } from './inputs.ts'
import type { DriverSnapshot } from './kinds.ts'
import { snapshotStatus } from './patches.ts'
import { recordFailure } from './record-failure.ts'
import type { ContentRun } from './run.ts'

/**
 * Calls CreateSnapshot, which creates the snapshot or returns whether it is ready. The being-created annotation is
 * present while the driver may have a snapshot whose handle is not stored. Returns undefined if the answer is stored.
 */
export async function createSnapshot(run: ContentRun, phase: Phase): Promise<Outcome | undefined> {
  const waitMs = deletionWaitMs(run)
  if (waitMs > 0) return { kind: 'postponed', ms: waitMs }
  let isStored = false
  try {
    const snapshot = run.deps.memory.creationOf(run.content.uid)?.answer ?? (await callCreateSnapshot(run))
    await storeSnapshot(run, snapshot)
    isStored = true
    await run.stored.setBeingCreated(false)
    return undefined
  } catch (error) {
    run.signal.throwIfAborted()
    if (error instanceof OutdatedRequestError) return { kind: 'retry', cause: error }
    // Only the removal of the annotation has failed. For a ready snapshot, the next run repeats only the removal.
    if (isStored && !(error instanceof ContentGoneError)) return { kind: 'retry', cause: error }
    return await recordFailure(run, phase, error)
  }
}

/**
 * Returns how long a creation must wait because DeleteSnapshot may still run for an earlier content of the same
 * VolumeSnapshot: the driver could return the snapshot that it is about to delete.
 */
function deletionWaitMs({ deps, content }: ContentRun): number {
  const { memory, clock, timeoutMs } = deps
  const end = memory.uncertainDeletionEnd(content.refUid)
  if (end === undefined) return 0
  const waitMs = Math.min(timeoutMs, end + timeoutMs - clock.monotonic())
  if (waitMs <= 0) memory.endUncertainDeletion(content)
  return waitMs
}

async function callCreateSnapshot(run: ContentRun): Promise<DriverSnapshot> {
  const { deps, content, key, stored } = run
  const { kind, log, memory } = deps
  const { texts } = kind
  log.info(`${texts.wrapper}: Creating ${texts.snapshot} for ${texts.content} ${key} through the plugin ...`, UNQUOTED)
  const { request, valuesToRecord } = await prepareCreation(run)
  const failed = rethrowAs(`failed to take ${texts.snapshot} of ${kind.sourceText(content)}`, goQuote)
  const call = await run.calls.prepareCreate(request).catch(failed)
  // If the status already has the snapshot's handle, a deletion can use it, so no annotation is needed.
  const needsAnnotation = content.status?.handle === undefined
  const addFailed = rethrowAs(`failed to add ${texts.beingCreated} annotation on the ${texts.content} ${key}`, goQuote)
  if (valuesToRecord !== undefined)
    await stored.recordValues({ ...valuesToRecord, isBeingCreated: needsAnnotation }).catch(addFailed)
  else if (needsAnnotation) await stored.setBeingCreated(true).catch(addFailed)
  if (memory.lostOf(key).some((lost) => lost.content.uid === content.uid)) throw new ContentGoneError(`${key} is gone`)
  // The content takes over the snapshot of an earlier content of the same VolumeSnapshot.
  memory.forgetLost(key, (lost) => lost.content.refUid === content.refUid)
  const creation = memory.beginCreation(content, request)
  try {
    creation.answer = await call()
    return creation.answer
  } catch (error) {
    run.signal.throwIfAborted()
    log.info(`${texts.wrapper}: C${texts.creation.slice(1)} ${key} returned error: ${messageOf(error)}`, UNQUOTED)
    if (callFailure(error).isFinal) await endCreation(run)
    return failed(error)
  }
}

/** Ends a creation that has finally failed: no snapshot exists, so the content may be deleted. */
async function endCreation({ deps, content, key, stored }: ContentRun): Promise<void> {
  const { beingCreated, content: noun } = deps.kind.texts
  // A snapshot whose handle is stored exists, and was created with the remembered request.
  const hasHandle = content.status?.handle !== undefined
  if (!hasHandle) deps.memory.endCreation(content)
  if (hasHandle && !content.beingCreated) return
  const failedStep = `failed to remove ${beingCreated} annotation from the ${noun} ${key}`
  await stored.setBeingCreated(false).catch(rethrowAs(failedStep))
}

/** Stores the answer of the driver in the status. */
async function storeSnapshot(run: ContentRun, snapshot: DriverSnapshot): Promise<void> {
  const { deps, content, key, stored } = run
  const { kind, memory } = deps
  const failedStep = `error updating status for volume ${kind.texts.snapshotContent} ${key}`
  await stored.writeStatus((latest) => snapshotStatus(kind, snapshot, latest)).catch(rethrowAs(failedStep))
  memory.recordStoredAnswer(content, snapshot.readyToUse)
}
