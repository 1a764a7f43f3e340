import type { PendingTable, TraceSubject, WorkSubject } from '@csi-sidecars/controller'
import type { Reader } from '@csi-sidecars/informer'
import type { CachedAttachment } from '../caches/attachment.ts'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import { decide } from './decide.ts'
import type { AttachmentMemory } from './memory.ts'
import type { AttachmentView } from './observe.ts'

/** The caches and the memory that the report of pending work reads. It sends no request. */
export interface SubjectSources {
  readonly attachments: Pick<Reader<CachedAttachment>, 'get'>
  readonly memory: Pick<AttachmentMemory, 'recordOf' | 'orphanedPublication'>
  readonly viewOf: (va: CachedAttachment) => AttachmentView
}

/** Returns the table that describes pending attaches and detaches for reports. */
export function attachmentPendingTable(sources: SubjectSources): PendingTable {
  return {
    sidecar: SIDECAR,
    subject: (key) => subjectOf(key, sources),
  }
}

/**
 * Returns the pending work of an attachment according to its plan, or the pending unpublish of a volume without an
 * attachment. Undefined if no work is due.
 */
export function subjectOf(key: string, { attachments, memory, viewOf }: SubjectSources): WorkSubject | undefined {
  const orphaned = memory.orphanedPublication(key)
  if (orphaned !== undefined) return { operation: 'detach', node: orphaned.nodeName }
  const va = attachments.get(key)
  if (va === undefined || !va.ours || memory.recordOf(va).isGone) return undefined
  const view = viewOf(va)
  const { operation, steps } = decide(view)
  const lastStep = steps.at(-1)
  if (operation === 'keep' || lastStep === undefined) return undefined
  return {
    operation,
    object: objectOf(va),
    volume: va.pvName,
    node: va.nodeName,
    // A ListVolumes listing started this work, so the age of the attachment is not the age of the work.
    sinceSeconds: view.listingDiffers || view.listingAgrees ? undefined : va.requestedAtSeconds,
    obstacle: lastStep.kind === 'fail' || lastStep.kind === 'block' ? lastStep.obstacle : undefined,
  }
}

export function objectOf({ key, uid }: Pick<CachedAttachment, 'key' | 'uid'>): NonNullable<WorkSubject['object']> {
  return { kind: 'VolumeAttachment', namespace: '', name: key, uid }
}

/** Returns the attributes of a run's trace. A run over a deleted attachment can only be a detach. */
export function attachmentTraceSubject(
  attachments: Pick<Reader<CachedAttachment>, 'get'>,
): (key: string) => TraceSubject {
  return (key) => {
    const va = attachments.get(key)
    return {
      operation: va === undefined || va.deleting ? 'detach' : 'attach',
      names: {
        'k8s.volumeattachment.name': key,
        ...(va?.pvName !== undefined && { 'k8s.persistentvolume.name': va.pvName }),
        ...(va !== undefined && { 'k8s.node.name': va.nodeName }),
      },
      traceparent: va?.traceparent,
    }
  }
}
