import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { classify } from '@csi-sidecars/csi'
import { isNotFound } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import { callDelete, prepareCreate } from './calls.ts'
import { isToBeDeleted } from './decide.ts'
import { annotatedSecrets, createInputs } from './inputs.ts'
import { answerOf, type Orphan } from './memory.ts'
import { type ContentRun, warn } from './run.ts'

/**
 * Deletes the snapshot of a content whose finalizers were removed during the creation or the deletion. Repeats a
 * CreateSnapshot call that may be running, because only its answer contains the handle.
 */
export async function endOrphan(run: ContentRun, orphan: Orphan): Promise<Outcome> {
  const { memory, log, driver, kind } = run.deps
  const { content } = orphan
  try {
    const fate = await fateOf(run, orphan)
    if (fate === 'pending') return SETTLED
    if (fate === 'leftOver') {
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
  memory.forget(content.key, content.uid)
  return SETTLED
}

/**
 * `leftOver`: no content uses the snapshot. `pending`: another content may soon use it. `settled`: the snapshot does not
 * exist, or a content uses it.
 */
type Fate = 'leftOver' | 'pending' | 'settled'

async function fateOf(run: ContentRun, orphan: Orphan): Promise<Fate> {
  if (await stillExists(run, orphan)) return 'settled'
  const fate = currentFate(run, orphan)
  if (fate !== 'leftOver' || orphan.handle !== undefined) return fate
  return (await learnHandle(run, orphan)) ? currentFate(run, orphan) : 'settled'
}

/** Asks the API server, because a content that leaves the cache may only have a new driver or a new label. */
async function stillExists({ deps, key, signal }: ContentRun, { content }: Orphan): Promise<boolean> {
  try {
    const { metadata } = await deps.api.get<KubeObject>(deps.kind.resource, { name: key }, { signal })
    return metadata?.uid === content.uid
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

/** Repeats the creation to get the handle. Returns false after a final failure, because no snapshot exists then. */
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

/** Looks for another content of the same VolumeSnapshot, or with the same snapshot handle. */
function currentFate({ deps }: ContentRun, { content, handle }: Orphan): Fate {
  let fate: Fate = 'leftOver'
  for (const other of deps.contents.store.values()) {
    const { given, status, volumes, refUid, uid } = other
    if (handle !== undefined && (given?.handle === handle || status?.handle === handle)) return 'settled'
    if (volumes.length === 0 || refUid !== content.refUid || uid === content.uid) continue
    if (other.beingCreated || status?.handle !== undefined || other.policy === 'Retain') return 'settled'
    // The other content may create the same snapshot later, unless it is being deleted.
    if (!isToBeDeleted(other)) fate = 'pending'
  }
  return fate
}
