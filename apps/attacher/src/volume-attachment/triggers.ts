import { unreachable } from '@csi-sidecars/base'
import type { Cause, QueueTrigger, Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import type { Volume } from '../caches/volume.ts'
import type { UpdateEvent } from '../term/undone-write.ts'
import type { AttachmentMemory } from './memory.ts'

/**
 * Our attachments, whenever there may be something to do for them. Others' are never queued, and neither are those at
 * rest: in a cluster nearly all are, and a run over each would double what a start costs.
 */
export function onAttachment(finalizer: string, log: Logger): QueueTrigger<Attachment> {
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
        if (matters(event, finalizer, queue.isInWork(event.after.key))) return [event.after.key]
        log.v(3)?.info('Ignoring VolumeAttachment change', { VolumeAttachment: event.after.key })
        return []
      default:
        return unreachable(event)
    }
  }
}

/**
 * An error that was stored must not cause the retry that its back-off delays. What a run writes needs no other run either,
 * unless another writer has changed the object meanwhile; a run checks at its end that its own success is still stored.
 */
function matters({ before, after, cause }: UpdateEvent<Attachment>, finalizer: string, inWork: boolean): boolean {
  if (isAtRest(before, finalizer) && isAtRest(after, finalizer)) return false
  if (cause === 'resync' || hasLostFinalizer({ before, after }, finalizer)) return true
  if (cause === 'own' || inWork) return othersChanged(before, after, finalizer)
  if (!hasError(before) && !hasError(after)) return true
  return othersChanged(before, after, '') || statusChanged(before, after)
}

/**
 * Attached, protected by our finalizer, and without an error: nothing is to be done for it. Where the driver lists
 * something else, the comparison adds it.
 */
function isAtRest(va: Attachment, finalizer: string): boolean {
  return isDone(va) && !hasError(va) && va.finalizers?.includes(finalizer) === true
}

/** Its last try has failed, that of this process or of another one. */
export function hasError(va: Attachment): boolean {
  return va.attachError !== undefined || va.detachError !== undefined
}

function othersChanged(before: Attachment, after: Attachment, ownFinalizer: string): boolean {
  return (
    before.deleting !== after.deleting ||
    before.rest !== after.rest ||
    listed(before.finalizers, ownFinalizer) !== listed(after.finalizers, ownFinalizer)
  )
}

/** Absent and empty are equal. */
function listed(finalizers: readonly string[] | undefined, without: string): string {
  return (finalizers ?? []).filter((name) => name !== without).join('\n')
}

function statusChanged(before: Attachment, after: Attachment): boolean {
  return (
    (before.attached === true) !== (after.attached === true) ||
    before.nodeId !== after.nodeId ||
    JSON.stringify(before.metadata ?? {}) !== JSON.stringify(after.metadata ?? {})
  )
}

/** Another writer has removed our finalizer from a living attachment; our own detach removes it from deleted ones. */
export function hasLostFinalizer(
  { before, after }: Pick<UpdateEvent<Attachment>, 'before' | 'after'>,
  finalizer: string,
): boolean {
  if (after.deleting || before.finalizers?.includes(finalizer) !== true) return false
  return after.finalizers?.includes(finalizer) !== true
}

/** Another writer has set a living attachment back to not attached: we do that to deleted ones alone. */
export function isStatusReverted({ before, after }: Pick<UpdateEvent<Attachment>, 'before' | 'after'>): boolean {
  return before.attached === true && after.attached !== true && !after.deleting
}

/** A detach is wanted from now on: that the attach has failed says nothing of it. */
export const onDetachWanted: Trigger<Attachment> = (event) =>
  event.type === 'updated' && event.after.deleting && !event.before.deleting ? [event.after.key] : []

/** Orphaned publications on a node where an attachment ends: it may have been the last one responsible for them. */
export function onAttachmentEnd(memory: Pick<AttachmentMemory, 'orphanedPublicationsOn'>): Trigger<Attachment> {
  return (event) => {
    if (event.type === 'added') return []
    const va = event.type === 'deleted' ? event.object : event.after
    return event.type === 'deleted' || va.deleting ? memory.orphanedPublicationsOn(va.nodeName) : []
  }
}

/**
 * A volume has come, or its access modes were corrected: attachments may be waiting for that. One that is gone may have
 * had the name of another, whose detach was blocked by it.
 */
export function causesOfVolume(event: InformerEvent<Volume>): readonly Cause[] {
  if (event.type === 'added') return [{ on: 'volume', name: event.object.key }]
  if (event.type === 'deleted') return [{ on: 'volumeGone', name: event.object.key }]
  if (event.before.modes === event.after.modes) return []
  return [{ on: 'volume', name: event.after.key }]
}

/**
 * A volume has come, perhaps under the name of another one: what is not attached yet may wait behind calls for that one's
 * handle, and is due for the new one at once. An attachment that waits for nothing is looked at in vain.
 */
export function onVolumeAdded(attachmentsOf: (volume: string) => readonly Attachment[]): Trigger<Volume> {
  return (event) => {
    if (event.type !== 'added') return []
    return attachmentsOf(event.object.key).flatMap((va) => (va.ours && !isDone(va) ? [va.key] : []))
  }
}

function isDone({ attached, deleting }: Attachment): boolean {
  return attached === true && !deleting
}

/** The driver has come to a node that attachments may be waiting for. */
export function causesOfNode(event: InformerEvent<DriverNode>): readonly Cause[] {
  if (event.type === 'deleted') return []
  const node = event.type === 'added' ? event.object : event.after
  const before = event.type === 'updated' ? event.before.nodeId : undefined
  return node.nodeId !== undefined && node.nodeId !== before ? [{ on: 'node', name: node.key }] : []
}
