import type { Cached } from '@csi-sidecars/informer'
import type { CSIDriver, CSINode, StorageClass, VolumeAttachment } from '@csi-sidecars/kube-types'
import { IS_DEFAULT_CLASS, identityOf } from './metadata.ts'

/** The cached fields of a StorageClass. */
export interface CachedClass extends Cached {
  readonly provisioner: string
  readonly waitsForConsumer: boolean
  readonly allowedTopologies: StorageClass['allowedTopologies']
  readonly isDefault: boolean
  /** The creation time. If several classes are marked as the default, the newest class counts. */
  readonly created: string
}

/** The cached fields of a CSIDriver. */
export interface CachedDriver extends Cached {
  readonly attachRequired: boolean
  readonly podInfoOnMount: boolean
  /** The lifecycle modes that the driver supports: `Persistent`, `Ephemeral` or both. */
  readonly lifecycleModes: readonly string[]
  /** True if the driver requires periodic publish calls for mounted volumes. */
  readonly requiresRepublish: boolean
  readonly fsGroupPolicy: string
}

/** A driver in the CSINode of a node. */
export interface NodeDriver {
  readonly nodeId: string
  /** The maximum number of volumes on the node; undefined for no limit. */
  readonly most: number | undefined
}

/** The cached fields of a CSINode: the drivers on a node, by name. */
export interface CachedCsiNode extends Cached {
  readonly drivers: ReadonlyMap<string, NodeDriver>
}

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

export function classProjection(storageClass: StorageClass): CachedClass {
  const { metadata, provisioner, volumeBindingMode } = storageClass
  return {
    ...identityOf(storageClass),
    provisioner,
    waitsForConsumer: volumeBindingMode === 'WaitForFirstConsumer',
    allowedTopologies: storageClass.allowedTopologies ?? undefined,
    isDefault: metadata?.annotations?.[IS_DEFAULT_CLASS] === 'true',
    created: metadata?.creationTimestamp ?? '',
  }
}

/** The policy of a CSIDriver that does not set `fsGroupPolicy`. */
const FS_GROUP_POLICY = 'ReadWriteOnceWithFSType'

export function driverProjection(driver: CSIDriver): CachedDriver {
  const { attachRequired, podInfoOnMount, volumeLifecycleModes, requiresRepublish, fsGroupPolicy } = driver.spec
  return {
    ...identityOf(driver),
    attachRequired: attachRequired !== false,
    podInfoOnMount: podInfoOnMount === true,
    lifecycleModes: volumeLifecycleModes ?? [],
    requiresRepublish: requiresRepublish === true,
    fsGroupPolicy: fsGroupPolicy ?? FS_GROUP_POLICY,
  }
}

export function csiNodeProjection(csiNode: CSINode): CachedCsiNode {
  const drivers = (csiNode.spec?.drivers ?? []).map(({ name, nodeID, allocatable }): [string, NodeDriver] => [
    name,
    { nodeId: nodeID, most: allocatable?.count ?? undefined },
  ])
  return { ...identityOf(csiNode), drivers: new Map(drivers) }
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
