import type { PendingTable, Subject, TraceSubject } from '@csi-sidecars/controller'
import type { Reader } from '@csi-sidecars/informer'
import type { Attachment } from '../caches/attachment.ts'
import type { DriverNode } from '../caches/node.ts'
import type { Volume } from '../caches/volume.ts'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import type { AttachmentMemory } from './memory.ts'

export interface SubjectSources {
  readonly attachments: Pick<Reader<Attachment>, 'get'>
  readonly volumes: Pick<Reader<Volume>, 'get'>
  readonly nodes: Pick<Reader<DriverNode>, 'get'>
  readonly memory: Pick<AttachmentMemory, 'of' | 'orphanedPublication'>
  readonly finalizer: string
}

/** How pending attaches and detaches are reported. */
export function attachmentTable(sources: SubjectSources): PendingTable {
  return {
    sidecar: SIDECAR,
    subject: (key) => subjectOf(key, sources),
    causes: {
      volume: { kind: 'PersistentVolume', reason: 'VolumeNotUsable' },
      volumeGone: { kind: 'the deletion of PersistentVolume', reason: 'VolumeNotUsable' },
      node: { kind: 'CSINode', reason: 'DriverNotOnNode' },
      unpublish: { kind: 'a detach of volume', reason: 'VolumeOrNodeBusy' },
    },
  }
}

/** What is due for an attachment, or for an orphaned publication; undefined where actual and desired state are equal. */
export function subjectOf(key: string, sources: SubjectSources): Subject | undefined {
  const { attachments, memory, finalizer } = sources
  const orphaned = memory.orphanedPublication(key)
  if (orphaned !== undefined) return { operation: 'detach', node: orphaned.nodeName }
  const va = attachments.get(key)
  if (va === undefined || !va.ours || memory.of(va).gone) return undefined
  const { listing, statusPending } = memory.of(va)
  const forced = listing === 'different'
  const settled = va.deleting ? va.finalizers?.includes(finalizer) !== true && !statusPending : va.attached === true
  if (settled && !forced) return undefined
  return {
    operation: va.deleting ? 'detach' : 'attach',
    object: objectOf(va),
    volume: va.pvName,
    node: va.nodeName,
    // An attachment that is attached again is due since the difference was noticed, not since it was created.
    sinceSeconds: settled ? undefined : va.dueSeconds,
    obstacle: obstacleOf(va, sources),
  }
}

export function objectOf({ key, uid }: Pick<Attachment, 'key' | 'uid'>): NonNullable<Subject['object']> {
  return { kind: 'VolumeAttachment', namespace: '', name: key, uid }
}

function obstacleOf(va: Attachment, { volumes, nodes }: SubjectSources): string | undefined {
  if (va.pvName !== undefined) {
    const pv = volumes.get(va.pvName)
    if (pv === undefined) return 'PersistentVolumeMissing'
    if (pv.deleting && !va.deleting) return 'PersistentVolumeDeleting'
  }
  // A detach knows the node by what was noted when it was attached.
  if (va.deleting && va.nodeId !== undefined) return undefined
  const node = nodes.get(va.nodeName)
  if (node === undefined) return 'CSINodeMissing'
  return node.nodeId === undefined ? 'DriverNotOnNode' : undefined
}

/** What is done to an attachment; one that is gone has left a volume behind, if anything. */
export function attachmentTraceSubject(attachments: Pick<Reader<Attachment>, 'get'>): (key: string) => TraceSubject {
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
