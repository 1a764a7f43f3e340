import type { TraceSubject } from '@csi-sidecars/controller'
import type { Reader } from '@csi-sidecars/informer'
import type { Attachment } from '../caches/attachment.ts'

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
