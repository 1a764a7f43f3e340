import { messageOf } from '@csi-sidecars/base'
import { type Outcome, type Run, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import { volumeOf } from '../volumes/volume-view.ts'
import { isNotFoundByDriver, OperationError } from './failure.ts'
import { volumeIdentityName } from './lanes.ts'
import { loadSecret } from './load-secret.ts'
import type { Publication } from './memory.ts'
import type { AttachmentDeps, AttachmentRun } from './run.ts'

/** Enqueues an unpublish of each volume that is still published for the attachment. */
export function orphanPublications({ deps, va }: AttachmentRun): void {
  for (const key of deps.memory.orphanPublications(va)) deps.enqueue(key)
}

/**
 * Unpublishes a volume without an attachment: a user removed the finalizer by hand, or the PersistentVolume was
 * recreated. If another attachment has the volume on the node, this key runs again when that attachment ends.
 */
export async function reconcileOrphanedPublication(
  publication: Publication,
  deps: AttachmentDeps,
  run: Run,
): Promise<Outcome> {
  const { request, secret: ref, migrated } = publication
  const { memory } = deps
  const { signal } = run
  if (hasLiveAttachment(publication, deps)) return SETTLED
  const log = deps.log.with({ volumeHandle: request.volumeId, nodeID: request.nodeId })
  log.v(2)?.info('Detaching a volume for which there is no VolumeAttachment')
  try {
    const secret = ref === undefined ? {} : await loadSecret(deps.api, ref, { signal })
    await deps.driver.unpublish({ ...request, secrets: secretsFrom(secret) }, { migrated, signal, log })
  } catch (error) {
    signal.throwIfAborted()
    const { lost } = deps.driver
    // NotFound means that the volume or the node is gone, so the unpublish is not repeated.
    if (lost || !isNotFoundByDriver(error)) {
      return { kind: 'retry', cause: new OperationError(`failed to detach: ${messageOf(error)}`, { cause: error }) }
    }
  }
  log.v(2)?.info('Detached')
  memory.recordUnpublish(request)
  deps.wake({ kind: 'unpublish', name: request.volumeId })
  return WORK_COMPLETED
}

function hasLiveAttachment(
  { volume, nodeName }: Publication,
  { attachments, volumes, memory, finalizer }: AttachmentDeps,
): boolean {
  for (const va of attachments.store.values()) {
    if (!va.ours || va.nodeName !== nodeName || memory.recordOf(va).isGone) continue
    if (va.deleting && va.finalizers?.includes(finalizer) !== true) continue
    if (volumeIdentityName(va, volumeOf(va, volumes)) === volume) return true
  }
  return false
}
