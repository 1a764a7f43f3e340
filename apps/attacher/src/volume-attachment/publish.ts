import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED, WORK_COMPLETED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { SecretRef } from '@csi-sidecars/sidecar'
import { STATUS_REVERTED, statusReverted } from '../term/status-reverted.ts'
import { AttachmentGoneError, OperationError } from './failure.ts'
import { volumeIdentityName } from './lanes.ts'
import type { AttachmentView } from './observe.ts'
import { attachedPatch } from './patches.ts'
import type { AttachmentRun } from './run.ts'
import type { AttachStep } from './steps.ts'

/** The context that the driver returns for the node. */
export type PublishContext = Readonly<Record<string, string>>

/** Reports whether the volume of the plan was deleted, or deleted and recreated. */
export function isVolumeGone({ deps }: AttachmentRun, { volume }: AttachmentView): boolean {
  return volume.kind === 'pv' && deps.volumes.get(volume.name)?.uid !== volume.pv?.uid
}

/** The step to perform, and the Secret of the call. */
export interface Publish {
  readonly step: AttachStep & { kind: 'publish' }
  readonly secret: Readonly<Record<string, string>>
  readonly secretRef: SecretRef | undefined
}

/**
 * Publishes the volume. Even if the driver answers with an error, the volume may be on the node until an unpublish
 * succeeds.
 */
export async function publish(
  run: AttachmentRun,
  view: AttachmentView,
  { step, ...call }: Publish,
): Promise<PublishContext> {
  const { deps, signal, log, stored } = run
  const { request, migrated } = step
  const { volumeId, nodeId } = request
  const secrets = secretsFrom(call.secret)
  if (stored.hasLeftCache) throw new AttachmentGoneError(run.key)
  const va = stored.lastAnswer
  const volume = volumeIdentityName(va, view.volume)
  // If the PersistentVolume was recreated, the volume with the old handle is unpublished. No pod uses it, because it
  // was never marked as attached.
  if (va.attached !== true) for (const orphan of deps.memory.orphanPublications(va, volume)) deps.enqueue(orphan)
  deps.memory.recordPublish(va, {
    volume,
    nodeName: va.nodeName,
    request: { volumeId, nodeId },
    secret: call.secretRef,
    migrated,
  })
  // The driver may refuse the publish because the volume is on another node. A detach from that node starts the next
  // try.
  run.waitFor({ kind: 'unpublish', name: volumeId })
  const context = await deps.driver.publish({ ...request, secrets }, { migrated, signal, log })
  run.stopWaiting()
  return context
}

/** Stores the result of the publish in the status. */
export async function markAttached(run: AttachmentRun, context: PublishContext): Promise<Outcome> {
  const { stored } = run
  run.log.v(4)?.info('Marking as attached')
  let saved: VolumeAttachment | undefined
  try {
    saved = await stored.writeStatus((va) => attachedPatch(va, context))
    // The answer may contain an error or an old publish context that the cache lacked. A second patch removes them.
    const mayHaveStaleFields = stored.newest.attached === true
    if (mayHaveStaleFields) await stored.writeStatus((va) => attachedPatch(va, context))
  } catch (error) {
    // The volume is attached, and only the status does not show it. So no error is recorded, and the run is repeated.
    run.signal.throwIfAborted()
    if (error instanceof AttachmentGoneError) throw error
    const cause = new OperationError(`failed to mark as attached: ${messageOf(error)}`, { cause: error })
    return { kind: 'retry', cause }
  }
  run.log.v(4)?.info('Fully attached')
  if (stored.lastAnswer.attached === true) return WORK_COMPLETED
  if (stored.lastAnswer.deleting || saved === undefined) return SETTLED
  return statusReverted(saved, new OperationError(STATUS_REVERTED))
}
