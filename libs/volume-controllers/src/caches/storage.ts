import type { Cached } from '@csi-sidecars/informer'
import type { CSIDriver, CSINode, StorageClass } from '@csi-sidecars/kube-types'
import { IS_DEFAULT_CLASS } from './annotations.ts'
import { identityOf } from './identity.ts'

/** The cached fields of a StorageClass. */
export interface CachedClass extends Cached {
  readonly provisioner: string
  readonly parameters: Readonly<Record<string, string>>
  readonly reclaimPolicy: string
  readonly mountOptions: readonly string[]
  readonly waitsForConsumer: boolean
  readonly allowedTopologies: StorageClass['allowedTopologies']
  readonly isDefault: boolean
  /** The creation time. If several classes are marked as the default, the newest class counts. */
  readonly created: string
}

export function classProjection(storageClass: StorageClass): CachedClass {
  const { metadata, provisioner, parameters, reclaimPolicy, mountOptions, volumeBindingMode } = storageClass
  return {
    ...identityOf(storageClass),
    provisioner,
    parameters: parameters ?? {},
    reclaimPolicy: reclaimPolicy ?? 'Delete',
    mountOptions: mountOptions ?? [],
    waitsForConsumer: volumeBindingMode === 'WaitForFirstConsumer',
    allowedTopologies: storageClass.allowedTopologies ?? undefined,
    isDefault: metadata?.annotations?.[IS_DEFAULT_CLASS] === 'true',
    created: metadata?.creationTimestamp ?? '',
  }
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

export interface NodeDriver {
  readonly nodeId: string
  readonly topologyKeys: readonly string[]
  /** The maximum number of volumes on the node; undefined for no limit. */
  readonly most: number | undefined
}

/** The cached fields of a CSINode: the drivers on a node, by name. */
export interface CachedCsiNode extends Cached {
  readonly drivers: ReadonlyMap<string, NodeDriver>
}

export function csiNodeProjection(csiNode: CSINode): CachedCsiNode {
  const drivers = (csiNode.spec?.drivers ?? []).map(
    ({ name, nodeID, topologyKeys, allocatable }): [string, NodeDriver] => [
      name,
      { nodeId: nodeID, topologyKeys: topologyKeys ?? [], most: allocatable?.count ?? undefined },
    ],
  )
  return { ...identityOf(csiNode), drivers: new Map(drivers) }
}
