import type { Cached, Informer } from '@csi-sidecars/informer'
import {
  CSI_NODE_MESSAGE,
  CSI_NODES,
  type CSINode,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  VOLUME_ATTACHMENT_MESSAGE,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import type { CacheRegistry } from '@csi-sidecars/sidecar'
import { attachmentProjection, BY_VOLUME, type CachedAttachment } from './attachment.ts'
import { asText } from './fields.ts'
import { type CachedVolume, volumeProjection } from './volume.ts'

/** The caches for attaching and detaching, in addition to the cache of VolumeAttachments. */
export interface AttachingCaches {
  readonly volumes: Informer<CachedVolume, PersistentVolume>
  readonly nodes: Informer<CachedDriverNode>
}

/** The options that decide which fields of which objects the attacher caches. */
export interface AttacherCacheOptions {
  readonly caches: CacheRegistry
  readonly driverName: string
  readonly resyncMs: number
  /** The flag `--recover-lost-volumes`. */
  readonly remember: boolean
}

/** The cached fields of a CSINode. `nodeId` is undefined if this driver does not run on the node. */
export interface CachedDriverNode extends Cached {
  readonly nodeId: string | undefined
}

export function openAttachments({
  caches,
  driverName,
  resyncMs,
  remember,
}: AttacherCacheOptions): Informer<CachedAttachment, VolumeAttachment> {
  return caches.open('VolumeAttachments', {
    resource: VOLUME_ATTACHMENTS,
    message: VOLUME_ATTACHMENT_MESSAGE,
    project: attachmentProjection(driverName, remember),
    indexes: { [BY_VOLUME]: (va) => (va.pvName === undefined ? [] : [va.pvName]) },
    resyncMs,
  })
}

export function openAttachingCaches({ caches, driverName, resyncMs }: AttacherCacheOptions): AttachingCaches {
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

export function nodeProjection(driverName: string): (node: CSINode) => CachedDriverNode {
  return (node) => ({
    key: node.metadata?.name ?? '',
    resourceVersion: node.metadata?.resourceVersion ?? '',
    uid: node.metadata?.uid ?? '',
    nodeId: nodeIdOf(node.spec?.drivers, driverName),
  })
}

function nodeIdOf(drivers: unknown, driverName: string): string | undefined {
  if (!Array.isArray(drivers)) return undefined
  return asText(drivers.find((driver) => driver?.name === driverName)?.nodeID)
}
