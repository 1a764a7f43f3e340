import { DONE, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import { volumeOf } from '../volumes/volume-view.ts'
import { failureOf, isNotFoundByDriver, OperationError } from './failure.ts'
import { volumeName } from './lanes.ts'
import type { Publication } from './memory.ts'
import { type AttachmentDeps, loadSecret } from './run.ts'

/**
 * Takes back a publish whose attachment is gone, or is for another volume now: its finalizer was removed by hand, before or
 * in mid-call, and no unpublish followed, or the PersistentVolume was recreated with another handle. A live attachment of the same volume and node is responsible for it instead: its own publish
 * or unpublish comes, and if it ends without either, this is checked again.
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
    const secret = ref === undefined ? {} : await loadSecret(deps, ref, { signal })
    await deps.driver.unpublish({ ...request, secrets: secretsFrom(secret) }, { migrated, signal, log })
  } catch (error) {
    signal.throwIfAborted()
    const { lost } = deps.driver
    // Volume or node are gone too. With no object left that could show an error, there is nothing to be repeated for.
    if (lost || !isNotFoundByDriver(error)) {
      const { message, retryAfterMs } = failureOf(error, lost)
      const cause = new OperationError(`failed to detach: ${message}`, { cause: error })
      return { kind: 'retry', cause, afterMs: retryAfterMs }
    }
  }
  log.v(2)?.info('Detached')
  memory.unpublished(request)
  deps.wake({ on: 'unpublish', name: request.volumeId })
  return DONE
}

function hasLiveAttachment(
  { volume, nodeName }: Publication,
  { attachments, volumes, memory, finalizer }: AttachmentDeps,
): boolean {
  for (const va of attachments.store.values()) {
    if (!va.ours || va.nodeName !== nodeName || memory.of(va).gone) continue
    if (va.deleting && va.finalizers?.includes(finalizer) !== true) continue
    if (volumeName(va, volumeOf(va, volumes)) === volume) return true
  }
  return false
}
