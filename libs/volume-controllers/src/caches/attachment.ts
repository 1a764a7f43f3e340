import type { Cached } from '@csi-sidecars/informer'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import { identityOf } from './identity.ts'

/** The cached fields of a VolumeAttachment. */
export interface Attachment extends Cached {
  readonly attacher: string
  readonly nodeName: string
  readonly pvName: string | undefined
  readonly deleting: boolean
  readonly attached: boolean
  readonly attachError: string | undefined
  readonly detachError: string | undefined
}

export function attachmentProjection(va: VolumeAttachment): Attachment {
  const { metadata, spec, status } = va
  return {
    ...identityOf(va),
    attacher: spec.attacher,
    nodeName: spec.nodeName,
    pvName: spec.source.persistentVolumeName ?? undefined,
    deleting: metadata?.deletionTimestamp != null,
    attached: status?.attached === true,
    attachError: status?.attachError?.message,
    detachError: status?.detachError?.message,
  }
}
