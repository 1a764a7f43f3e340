import { unreachable } from '@csi-sidecars/base'
import type { Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import type { Volume } from '../caches/volume.ts'
import type { Cause } from './memory.ts'

export interface AttachmentTriggerOptions {
  readonly finalizer: string
  /** Whether a run over the key is under way: what it writes may come back through the watch before it is answered. */
  readonly isInWork: (key: string) => boolean
  readonly ignored: (key: string) => void
}

/** Our attachments, whenever there may be something to do for them. Others' are never queued. */
export function onAttachment({ finalizer, isInWork, ignored }: AttachmentTriggerOptions): Trigger<Attachment> {
  return (event) => {
    switch (event.type) {
      case 'added':
        return event.object.ours ? [event.object.key] : []
      case 'deleted':
        return []
      case 'updated':
        if (!event.after.ours) return []
        if (matters(event, finalizer, isInWork(event.after.key))) return [event.after.key]
        ignored(event.after.key)
        return []
      default:
        return unreachable(event)
    }
  }
}

/**
 * An error that was stored must not cause the retry that its back-off delays. What a run writes needs no other run either,
 * unless somebody else has changed the object meanwhile; a run checks at its end that its own success still stands.
 */
function matters(
  { before, after, cause }: InformerEvent<Attachment> & { type: 'updated' },
  finalizer: string,
  inWork: boolean,
): boolean {
  if (cause === 'resync') return true
  if (cause === 'own' || inWork) return othersChanged(before, after, finalizer)
  if (!hasError(before) && !hasError(after)) return true
  return othersChanged(before, after, '') || statusChanged(before, after)
}

function hasError(va: Attachment): boolean {
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

/** A volume has come that attachments may be waiting for. */
export function causeOfVolume(event: InformerEvent<Volume>): Cause | undefined {
  return event.type === 'added' ? { on: 'volume', name: event.object.key } : undefined
}

/** The driver has come to a node that attachments may be waiting for. */
export function causeOfNode(event: InformerEvent<DriverNode>): Cause | undefined {
  if (event.type === 'deleted') return undefined
  const node = event.type === 'added' ? event.object : event.after
  const before = event.type === 'updated' ? event.before.nodeId : undefined
  return node.nodeId !== undefined && node.nodeId !== before ? { on: 'node', name: node.key } : undefined
}
