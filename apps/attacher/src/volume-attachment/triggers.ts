import { unreachable } from '@csi-sidecars/base'
import { objectOf, type QueueTrigger, type Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedDriverNode } from '../caches/open.ts'
import type { CachedVolume } from '../caches/volume.ts'
import type { UpdateEvent } from '../term/update-event.ts'
import type { AttachmentMemory } from './memory.ts'
import type { AttachmentWakeEvent } from './wake-events.ts'

/**
 * Returns our attachments that may need work. Attached attachments without an error are not queued: nearly all are like
 * that, and runs over them would double the cost of a start.
 */
export function onAttachment(finalizer: string, log: Logger): QueueTrigger<CachedAttachment> {
  return (event, queue) => {
    switch (event.type) {
      case 'added':
        if (!event.object.ours) return []
        if (!isAtRest(event.object, finalizer)) return [event.object.key]
        log.v(4)?.info('VolumeAttachment is already attached', { VolumeAttachment: event.object.key })
        return []
      case 'deleted':
        return []
      case 'updated':
        if (!event.after.ours) return []
        if (needsRun(event, finalizer, queue.isInWork(event.after.key))) return [event.after.key]
        log.v(3)?.info('Ignoring VolumeAttachment change', { VolumeAttachment: event.after.key })
        return []
      default:
        return unreachable(event)
    }
  }
}

/**
 * Reports whether a change needs a run. The write of an error must not cause a retry before the back-off ends. Changes
 * during a run are our own writes unless they touch fields of other writers: a run checks at its end that its success
 * is stored.
 */
function needsRun(
  { before, after, origin }: UpdateEvent<CachedAttachment>,
  finalizer: string,
  isInWork: boolean,
): boolean {
  if (isAtRest(before, finalizer) && isAtRest(after, finalizer)) return false
  if (origin === 'resync' || hasLostFinalizer({ before, after }, finalizer)) return true
  if (isInWork) return othersChanged(before, after, finalizer)
  if (!hasError(before) && !hasError(after)) return true
  return othersChanged(before, after, '') || statusChanged(before, after)
}

/**
 * Reports whether the attachment is attached, has our finalizer, and has no error. If the driver's listing disagrees,
 * the comparison adds the key.
 */
function isAtRest(va: CachedAttachment, finalizer: string): boolean {
  return isKeptAttached(va) && !hasError(va) && va.finalizers?.includes(finalizer) === true
}

/** Reports whether the last try of this process or of an earlier one has failed. */
export function hasError(va: CachedAttachment): boolean {
  return va.attachError !== undefined || va.detachError !== undefined
}

function othersChanged(before: CachedAttachment, after: CachedAttachment, ownFinalizer: string): boolean {
  return (
    before.deleting !== after.deleting ||
    before.otherMetadata !== after.otherMetadata ||
    finalizersWithout(before.finalizers, ownFinalizer) !== finalizersWithout(after.finalizers, ownFinalizer)
  )
}

/** Returns the finalizers as a text, so that absent and empty lists are equal. */
function finalizersWithout(finalizers: readonly string[] | undefined, name: string): string {
  return (finalizers ?? []).filter((each) => each !== name).join('\n')
}

function statusChanged(before: CachedAttachment, after: CachedAttachment): boolean {
  return (
    (before.attached === true) !== (after.attached === true) ||
    before.nodeId !== after.nodeId ||
    JSON.stringify(before.metadata ?? {}) !== JSON.stringify(after.metadata ?? {})
  )
}

/**
 * Reports whether another writer has removed our finalizer. Our detaches remove it only from attachments that are being
 * deleted.
 */
export function hasLostFinalizer(
  { before, after }: Pick<UpdateEvent<CachedAttachment>, 'before' | 'after'>,
  finalizer: string,
): boolean {
  if (after.deleting || before.finalizers?.includes(finalizer) !== true) return false
  return after.finalizers?.includes(finalizer) !== true
}

/**
 * Reports whether another writer has set `attached` back to false. Our detaches do that only for attachments that are
 * being deleted.
 */
export function isStatusReverted({ before, after }: Pick<UpdateEvent<CachedAttachment>, 'before' | 'after'>): boolean {
  return before.attached === true && after.attached !== true && !after.deleting
}

/** Returns an attachment whose deletion begins. The failures of its attach do not delay the detach. */
export const onDetachWanted: Trigger<CachedAttachment> = (event) =>
  event.type === 'updated' && event.after.deleting && !event.before.deleting ? [event.after.key] : []

/**
 * Returns the orphaned publications on the node of an attachment that ends. They are unpublished now if no other
 * attachment needs their volumes on the node.
 */
export function onAttachmentEnd(memory: Pick<AttachmentMemory, 'orphanedPublicationsOn'>): Trigger<CachedAttachment> {
  return (event) => {
    if (event.type === 'added') return []
    const va = event.type === 'deleted' ? event.object : event.after
    return event.type === 'deleted' || va.deleting ? memory.orphanedPublicationsOn(va.nodeName) : []
  }
}

/** Wakes attaches that wait for a new volume or for corrected access modes. */
export function wakesOnVolume(event: InformerEvent<CachedVolume>): readonly AttachmentWakeEvent<'volume'>[] {
  if (event.type === 'deleted') return []
  if (event.type === 'updated' && event.before.modes === event.after.modes) return []
  return [{ kind: 'volume', name: objectOf(event).key }]
}

/** Wakes detaches that are blocked until a recreated volume is deleted. */
export function wakesOnVolumeGone(event: InformerEvent<CachedVolume>): readonly AttachmentWakeEvent<'volumeGone'>[] {
  return event.type === 'deleted' ? [{ kind: 'volumeGone', name: event.object.key }] : []
}

/**
 * Returns the attachments of a new volume that are not attached. They may wait behind calls for an earlier volume of
 * the same name. With the new handle they can start at once.
 */
export function onVolumeAdded(attachmentsOf: (volume: string) => readonly CachedAttachment[]): Trigger<CachedVolume> {
  return (event) => {
    if (event.type !== 'added') return []
    return attachmentsOf(event.object.key).flatMap((va) => (va.ours && !isKeptAttached(va) ? [va.key] : []))
  }
}

function isKeptAttached({ attached, deleting }: CachedAttachment): boolean {
  return attached === true && !deleting
}

/** Wakes attachments that wait for the registration of the driver on the node. */
export function wakesOnNode(event: InformerEvent<CachedDriverNode>): readonly AttachmentWakeEvent<'node'>[] {
  if (event.type === 'deleted') return []
  const node = event.type === 'added' ? event.object : event.after
  const before = event.type === 'updated' ? event.before.nodeId : undefined
  return node.nodeId !== undefined && node.nodeId !== before ? [{ kind: 'node', name: node.key }] : []
}
