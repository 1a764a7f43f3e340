import type { Informer } from '@csi-sidecars/informer'
import {
  CSI_NODE_MESSAGE,
  CSI_NODES,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_ATTACHMENT_MESSAGE,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import type { CacheRegistry } from '@csi-sidecars/sidecar'
import { type Attachment, attachmentProjection, BY_VOLUME } from './attachment.ts'
import { type DriverNode, nodeProjection } from './node.ts'
import { type Volume, volumeProjection } from './volume.ts'

/** What attaching reads beside the attachments. */
export interface AttachingCaches {
  readonly volumes: Informer<Volume, PersistentVolume>
  readonly nodes: Informer<DriverNode>
}

export interface CacheOptions {
  readonly caches: CacheRegistry
  readonly driverName: string
  readonly resyncMs: number
  /** --recover-lost-volumes. */
  readonly remember: boolean
}

export function openAttachments({
  caches,
  driverName,
  resyncMs,
  remember,
}: CacheOptions): Informer<Attachment, VolumeAttachment> {
  return caches.open('VolumeAttachments', {
    resource: VOLUME_ATTACHMENTS,
    message: VOLUME_ATTACHMENT_MESSAGE,
    project: attachmentProjection(driverName, remember),
    indexes: { [BY_VOLUME]: (va) => (va.pvName === undefined ? [] : [va.pvName]) },
    resyncMs,
  })
}

/** What attaching reads beside the attachments. */
export function openAttachingCaches({ caches, driverName, resyncMs }: CacheOptions): AttachingCaches {
  return {
    volumes: caches.open('PersistentVolumes', {
      resource: PERSISTENT_VOLUMES,
      message: PERSISTENT_VOLUME_MESSAGE,
      project: volumeProjection(driverName),
      resyncMs,
    }),
    nodes: caches.open('CSINodes', {
      resource: CSI_NODES,
      message: CSI_NODE_MESSAGE,
      project: nodeProjection(driverName),
      resyncMs,
    }),
  }
}
