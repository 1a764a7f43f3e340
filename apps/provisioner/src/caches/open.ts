import type { Informer } from '@csi-sidecars/informer'
import {
  CSI_NODE_MESSAGE,
  CSI_NODES,
  type CSINode,
  NODE_MESSAGE,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIM_MESSAGE,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUME_MESSAGE,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  STORAGE_CLASS_MESSAGE,
  STORAGE_CLASSES,
  type StorageClass,
  VOLUME_ATTACHMENT_MESSAGE,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import type { CacheRegistry } from '@csi-sidecars/sidecar'
import type { LocalNode } from '../node/local-node.ts'
import { claimProjection, type ProvisionerClaim, sourceIndexKeys } from './claim.ts'
import {
  type Class,
  type ProvisionerAttachment,
  type ProvisionerNode,
  projectAttachment,
  projectClass,
  projectNode,
  type Registration,
  registrationProjection,
} from './cluster.ts'
import type { DriverNames } from './names.ts'
import { type ProvisionerVolume, volumeProjection } from './volume.ts'

/** The caches of the provisioner. A cache is undefined if the driver or a flag makes it needless. */
export interface ProvisionerCaches {
  readonly claims: Informer<ProvisionerClaim, PersistentVolumeClaim>
  readonly volumes: Informer<ProvisionerVolume, PersistentVolume>
  readonly classes: Informer<Class, StorageClass>
  /** The VolumeAttachments. Undefined if the driver does not support ControllerPublishVolume. */
  readonly attachments: Informer<ProvisionerAttachment, VolumeAttachment> | undefined
  /** The Nodes and CSINodes. Undefined if neither topology nor CSIStorageCapacity objects need them. */
  readonly topology: TopologyCaches | undefined
}

/** The caches from which the provisioner reads the topology of nodes. */
export interface TopologyCaches {
  readonly nodes: Informer<ProvisionerNode, Node>
  readonly registrations: Informer<Registration, CSINode>
}

type Registry = Pick<CacheRegistry, 'open'>

/** The options that decide which caches are opened, and which objects they keep. */
export interface CachesOptions {
  readonly caches: Registry
  readonly names: DriverNames
  readonly claimFinalizer: string
  readonly attaches: boolean
  /** The node of this process with `--node-deployment`. */
  readonly node: LocalNode | undefined
  /** True if Nodes and CSINodes are cached, for topology or for CSIStorageCapacity objects. */
  readonly nodes: boolean
}

/** The index of claims by UID. It has only claims that are unbound or have the finalizer of this process. */
export const CLAIMS_BY_UID = 'uid'
/** The index of unbound claims by the snapshot or claim that their volume is copied from. */
export const CLAIMS_BY_SOURCE = 'source'
export const ATTACHMENTS_BY_VOLUME = 'volume'

const RESYNC_INTERVAL_MS = 15 * 60_000

export function openCaches({ caches, names, claimFinalizer, attaches, nodes, node }: CachesOptions): ProvisionerCaches {
  return {
    claims: caches.open('PersistentVolumeClaims', {
      resource: PERSISTENT_VOLUME_CLAIMS,
      message: PERSISTENT_VOLUME_CLAIM_MESSAGE,
      project: claimProjection(claimFinalizer),
      indexes: {
        [CLAIMS_BY_UID]: ({ requestedVolume, uid }) => (requestedVolume === undefined ? [] : [uid]),
        [CLAIMS_BY_SOURCE]: sourceIndexKeys,
      },
      resyncMs: RESYNC_INTERVAL_MS,
    }),
    volumes: caches.open('PersistentVolumes', {
      resource: PERSISTENT_VOLUMES,
      message: PERSISTENT_VOLUME_MESSAGE,
      project: volumeProjection(names, node),
      resyncMs: RESYNC_INTERVAL_MS,
    }),
    classes: caches.open('StorageClasses', {
      resource: STORAGE_CLASSES,
      message: STORAGE_CLASS_MESSAGE,
      project: projectClass,
      resyncMs: 0,
    }),
    attachments: attaches ? openAttachments(caches) : undefined,
    topology: nodes ? openTopology(caches, names.driver) : undefined,
  }
}

function openAttachments(caches: Registry): Informer<ProvisionerAttachment, VolumeAttachment> {
  return caches.open('VolumeAttachments', {
    resource: VOLUME_ATTACHMENTS,
    message: VOLUME_ATTACHMENT_MESSAGE,
    project: projectAttachment,
    indexes: { [ATTACHMENTS_BY_VOLUME]: ({ volume }) => [volume] },
    resyncMs: 0,
  })
}

function openTopology(caches: Registry, driverName: string): TopologyCaches {
  return {
    nodes: caches.open('Nodes', { resource: NODES, message: NODE_MESSAGE, project: projectNode, resyncMs: 0 }),
    registrations: caches.open('CSINodes', {
      resource: CSI_NODES,
      message: CSI_NODE_MESSAGE,
      project: registrationProjection(driverName),
      resyncMs: 0,
    }),
  }
}
