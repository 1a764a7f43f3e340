import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { classify } from '@csi-sidecars/csi'
import { isNotFound } from '@csi-sidecars/kube-client'
import { apiVersionOf, type KubeObject } from '@csi-sidecars/kube-types'
import type { Content } from '../caches/content.ts'
import { callDelete, prepareCreate } from './calls.ts'
import { isToBeDeleted } from './decide.ts'
import { decideLost } from './decide-lost.ts'
import { rememberedSecrets } from './inputs.ts'
import type { Taken } from './kinds.ts'
import type { LostContent, SnapshotCreation } from './memory.ts'
import { type ContentRun, isNamedByOther, warn } from './run.ts'

/**
 * Deletes the snapshot of a lost content if `decideLost` permits it, otherwise reports that the snapshot stays. Does neither
 * if the content exists or another content uses the snapshot.
 */
export async function settleLost(run: ContentRun, lost: LostContent): Promise<Outcome> {
  const { memory, driver, kind } = run.deps
  try {
    if (!(await isSettled(run, lost))) return SETTLED
  } catch (error) {
    run.signal.throwIfAborted()
    if (driver.state !== 'lost') {
      const message = `Failed to delete the snapshot of a deleted content: ${messageOf(error)}`
      warn(run, lost.content, { reason: kind.reasons.delete, message })
    }
    return { kind: 'retry', cause: error }
  }
  memory.forgetLost(run.key, (each) => each === lost)
  return SETTLED
}

/** Returns false if another content may soon use the snapshot. */
async function isSettled(run: ContentRun, lost: LostContent): Promise<boolean> {
  const fate = decideLost(lost)
  const use = await useOf(run, lost)
  if (fate.kind === 'keep') {
    if (use === 'unused') reportLeft(run, lost, fate.reason)
    return true
  }
  if (use !== 'unused') return use === 'used'
  const { content } = lost
  const { creation } = fate
  creation.answer ??= await learnAnswer(run, content, creation)
  // After a final failure no snapshot exists.
  if (creation.answer === undefined) return true
  const secrets = await rememberedSecrets(run, content, creation.request)
  const useBeforeCall = await useOf(run, lost)
  if (useBeforeCall !== 'unused') return useBeforeCall === 'used'
  await callDelete(run, { kind: 'lost', lost }, secrets)
  const { handle } = creation.answer
  run.deps.log.info('Deleted the snapshot of a content that was gone before', { content: run.key, handle })
  return true
}

/** `maybeUsed`: another content of the same VolumeSnapshot may soon create the snapshot again. */
type Use = 'unused' | 'maybeUsed' | 'used'

/** Returns whether a content uses the snapshot. Asks the API server for the name of the lost content. */
async function useOf(run: ContentRun, { content, creation }: LostContent): Promise<Use> {
  const { api, kind, contents, memory } = run.deps
  try {
    const object = await api.get<KubeObject>(kind.resource, { name: run.key }, { signal: run.signal })
    // A content that leaves the cache may only have a new driver or a new label.
    if (object.metadata?.uid === content.uid) return 'used'
    contents.storeOwnWrite(object)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  const handle = handleOf(content, creation)
  if (handle !== undefined && isNamedByOther(run.deps, content, handle)) return 'used'
  let use: Use = 'unused'
  for (const other of contents.store.values()) {
    if (other.volumes.length === 0 || other.refUid !== content.refUid || other.uid === content.uid) continue
    const isUser = other.beingCreated || other.status?.handle !== undefined || other.policy !== 'Delete'
    if (isUser || other.key !== content.key) return 'used'
    // An uncertain DeleteSnapshot may still delete the snapshot, so it must not be used again.
    if (!isToBeDeleted(other) && memory.uncertainDeletionEnd(content.refUid) === undefined) use = 'maybeUsed'
  }
  return use
}

function handleOf({ status, given }: Content, creation: SnapshotCreation | undefined): string | undefined {
  return creation?.answer?.handle ?? status?.handle ?? given?.handle
}

/** Repeats the creation, because only its answer contains the handle. Returns undefined after a final failure. */
async function learnAnswer(
  run: ContentRun,
  content: Content,
  { request }: SnapshotCreation,
): Promise<Taken | undefined> {
  const secrets = await rememberedSecrets(run, content, request)
  const create = await prepareCreate(run, content, { ...request, secrets })
  try {
    return await create()
  } catch (error) {
    if (classify(error).final) return undefined
    throw error
  }
}

/** Reports the snapshot that stays in the driver without a content, in the log and by an event of its VolumeSnapshot. */
function reportLeft(run: ContentRun, { content, creation }: LostContent, reason: string): void {
  const { kind, log, recorder } = run.deps
  const { snapshot, snapshotContent } = kind.words
  const handle = handleOf(content, creation)
  const source = kind.sourceText(content)
  const pairs = { content: run.key, handle, name: creation?.request.name, source, reason }
  log.warn(`The ${snapshot} of a ${snapshotContent} that is gone may stay in the back end`, pairs)
  if (content.refName === '') return
  const which = handle === undefined ? `with the name ${creation?.request.name}` : handle
  const target = {
    apiVersion: apiVersionOf(kind.snapshots),
    kind: kind.snapshots.kind,
    namespace: content.refNamespace,
    name: content.refName,
    uid: content.refUid,
  }
  const message = `The ${snapshotContent} ${run.key} is gone. The ${snapshot} ${which} of ${source} may stay in the back end: ${reason}`
  recorder.event(target, { type: 'Warning', reason: kind.reasons.left, message })
}
