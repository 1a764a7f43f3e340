import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { classify } from '@csi-sidecars/csi'
import type { Content } from '../caches/content.ts'
import { callDelete, prepareCreate } from './calls.ts'
import { warn } from './events.ts'
import { annotatedSecrets, createInputs } from './inputs.ts'
import { answerOf, type Orphan } from './memory.ts'
import type { ContentRun } from './run.ts'

/**
 * Deletes the snapshot of a content whose finalizers were removed during the creation or the deletion. A creation that
 * may be running is repeated first, because only its answer contains the handle.
 */
export async function endOrphan(run: ContentRun, orphan: Orphan): Promise<Outcome> {
  const { memory, log, driver, kind } = run.deps
  const { content } = orphan
  try {
    if (await isLeftOver(run, orphan)) {
      const { handle = '', members } = orphan
      const secrets = await annotatedSecrets(run, content)
      await callDelete(run, { content, handle, members }, secrets)
      log.info('Deleted the snapshot of a content that was gone before', {
        content: run.key,
        handle,
      })
    }
  } catch (error) {
    run.signal.throwIfAborted()
    if (driver.state !== 'lost') {
      const message = `Failed to delete the snapshot of a deleted content: ${messageOf(error)}`
      warn(run, content, { reason: kind.reasons.delete, message })
    }
    return { kind: 'retry', cause: error }
  }
  memory.orphans.delete(run.key)
  return SETTLED
}

/** Reports whether the driver has the snapshot and no other content uses it. */
async function isLeftOver(run: ContentRun, orphan: Orphan): Promise<boolean> {
  if (isAdopted(run, orphan)) return false
  if (orphan.handle === undefined && !(await learnHandle(run, orphan))) return false
  return !isAdopted(run, orphan)
}

/** Repeats the creation to learn the handle. Returns false after a final failure: there is no snapshot. */
async function learnHandle(run: ContentRun, orphan: Orphan): Promise<boolean> {
  const create = await prepareCreate(run, orphan.content, await createInputs(run, orphan.content))
  try {
    Object.assign(orphan, answerOf(await create()))
    return true
  } catch (error) {
    if (classify(error).final) return false
    throw error
  }
}

/** Reports whether another content uses the snapshot: it has the same VolumeSnapshot or the same handle. */
function isAdopted({ deps }: ContentRun, { content, handle }: Orphan): boolean {
  const isSame = (other: Content): boolean =>
    (other.volumes.length > 0 && other.refUid === content.refUid && other.uid !== content.uid) ||
    (handle !== undefined && (other.given?.handle === handle || other.status?.handle === handle))
  for (const other of deps.contents.store.values()) if (isSame(other)) return true
  return false
}
