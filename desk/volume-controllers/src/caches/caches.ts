import type { Clock } from '@csi-sidecars/base'
import { type Cached, createInformer, type Informer, type InformerOptions } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import {
  CSI_DRIVERS,
  CSI_NODES,
  type CSIDriver,
  type CSINode,
  type KubeObject,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  STORAGE_CLASSES,
  type StorageClass,
  VOLUME_ATTACHMENTS,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
  type VolumeAttachment,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Claim, claimProjection } from './claim.ts'
import { type CachedNode, nodeProjection } from './node.ts'
import { type CachedPod, claimKeysOf, podProjection } from './pod.ts'
import { type CachedContent, type CachedSnapshot, contentProjection, snapshotProjection } from './snapshot.ts'
import {
  type Attachment,
  attachmentProjection,
  type CachedClass,
  type CachedCsiNode,
  type CachedDriver,
  classProjection,
  csiNodeProjection,
  driverProjection,
} from './storage.ts'
import { claimKeyOf, csiSourceOf, type Volume, volumeProjection } from './volume.ts'

/** One cache of each kind, shared by all controllers of this process, as in kube-controller-manager. */
export interface Caches {
  readonly claims: Informer<Claim, PersistentVolumeClaim>
  readonly volumes: Informer<Volume, PersistentVolume>
  readonly pods: Informer<CachedPod, Pod>
  readonly nodes: Informer<CachedNode, Node>
  readonly attachments: Informer<Attachment, VolumeAttachment>
  readonly classes: Informer<CachedClass, StorageClass>
  readonly drivers: Informer<CachedDriver, CSIDriver>
  readonly csiNodes: Informer<CachedCsiNode, CSINode>
  /** The caches of snapshots. Undefined if the cluster does not support snapshots. */
  readonly snapshotCaches: SnapshotCaches | undefined
}

/** The caches of VolumeSnapshots and their contents. */
export interface SnapshotCaches {
  readonly snapshots: Informer<CachedSnapshot, VolumeSnapshot>
  readonly contents: Informer<CachedContent, VolumeSnapshotContent>
}

/** A cache that is read by key only. */
export interface Lookup<T> {
  readonly store: { get(key: string): T | undefined }
}

/** The caches that resolve the volumes of a pod. */
export interface Lookups {
  readonly claims: Lookup<Claim>
  readonly volumes: Lookup<Volume>
  readonly drivers: Lookup<CachedDriver>
}

/** The names of the indexes, which find objects by a field other than the key. */
export const PODS_BY_NODE = 'node'
export const PODS_BY_CLAIM = 'claim'
/** Claims without a volume, by their class. */
export const CLAIMS_BY_CLASS = 'class'
/** Claims by the volume that they name, even if the volume does not exist. */
export const CLAIMS_BY_VOLUME = 'volume'
/** Claims by the UID of their owner. */
export const CLAIMS_BY_OWNER = 'owner'
/** Volumes of CSI drivers by driver and handle. */
export const VOLUMES_BY_HANDLE = 'handle'
/** Volumes by the claim in their `claimRef`, bound or not. */
export const VOLUMES_BY_CLAIM = 'claim'
/** Volumes that are neither bound nor reserved, by their class. */
export const FREE_VOLUMES_BY_CLASS = 'free'
/** VolumeSnapshots by their source claim. */
export const SNAPSHOTS_BY_CLAIM = 'claim'
/** Attachments by the volume they name. */
export const ATTACHMENTS_BY_VOLUME = 'volume'

/** Everything that the caches of all controllers need. */
export interface CacheParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  /** True if the API server has VolumeSnapshots and the driver can take snapshots. */
  readonly snapshots: boolean
}

export function createCaches(deps: CacheParts): Caches {
  const follow = <W extends KubeObject, T extends Cached>(
    options: Pick<InformerOptions<W, T>, 'resource' | 'project' | 'indexes'>,
  ): Informer<T, W> => createInformer({ ...deps, ...options, resyncMs: 0 })
  return {
    claims: follow({
      resource: PERSISTENT_VOLUME_CLAIMS,
      project: claimProjection,
      indexes: {
        [CLAIMS_BY_CLASS]: (claim) => (claim.volumeName === '' ? [claim.className ?? ''] : []),
        [CLAIMS_BY_VOLUME]: ({ volumeName }) => (volumeName === '' ? [] : [volumeName]),
        [CLAIMS_BY_OWNER]: ({ ownerUid }) => (ownerUid === undefined ? [] : [ownerUid]),
      },
    }),
    volumes: follow({
      resource: PERSISTENT_VOLUMES,
      project: volumeProjection,
      indexes: {
        [VOLUMES_BY_HANDLE]: (volume) => {
          const csi = csiSourceOf(volume)
          return csi === undefined ? [] : [handleKey(csi)]
        },
        [VOLUMES_BY_CLAIM]: ({ claimRef }) => (claimRef === undefined ? [] : [claimKeyOf(claimRef)]),
        [FREE_VOLUMES_BY_CLASS]: ({ claimRef, className }) => (claimRef === undefined ? [className] : []),
      },
    }),
    pods: follow({
      resource: PODS,
      project: podProjection,
      indexes: {
        [PODS_BY_NODE]: ({ nodeName }) => [nodeName],
        [PODS_BY_CLAIM]: claimKeysOf,
      },
    }),
    nodes: follow({ resource: NODES, project: nodeProjection }),
    attachments: follow({
      resource: VOLUME_ATTACHMENTS,
      project: attachmentProjection,
      indexes: { [ATTACHMENTS_BY_VOLUME]: ({ pvName }) => (pvName === undefined ? [] : [pvName]) },
    }),
    classes: follow({ resource: STORAGE_CLASSES, project: classProjection }),
    drivers: follow({ resource: CSI_DRIVERS, project: driverProjection }),
    csiNodes: follow({ resource: CSI_NODES, project: csiNodeProjection }),
    snapshotCaches: deps.snapshots
      ? {
          snapshots: follow({
            resource: VOLUME_SNAPSHOTS,
            project: snapshotProjection,
            indexes: { [SNAPSHOTS_BY_CLAIM]: ({ namespace, claim }) => [`${namespace}/${claim}`] },
          }),
          contents: follow({ resource: VOLUME_SNAPSHOT_CONTENTS, project: contentProjection }),
        }
      : undefined,
  }
}

export function handleKey({
  driver,
  volumeHandle,
}: {
  readonly driver: string
  readonly volumeHandle: string
}): string {
  return `${driver}^${volumeHandle}`
}

/** Returns the candidates for a claim without a volume name: volumes reserved for it, and free volumes of its class. */
export function volumesFor({ key, className }: Claim, { volumes }: Pick<Caches, 'volumes'>): readonly Volume[] {
  const { store } = volumes
  return [...store.byIndex(VOLUMES_BY_CLAIM, key), ...store.byIndex(FREE_VOLUMES_BY_CLASS, className ?? '')]
}

/** Runs all caches until the signal is aborted. */
export async function runCaches(caches: Caches, signal: AbortSignal): Promise<void> {
  await Promise.all(informersOf(caches).map((informer) => informer.run(signal)))
}

/** Resolves when every cache has its first list. */
export async function cachesSynced(caches: Caches, signal: AbortSignal): Promise<void> {
  await Promise.all(informersOf(caches).map(({ store }) => store.whenSynced(signal)))
}

function informersOf({ snapshotCaches, ...always }: Caches): readonly Informer<Cached>[] {
  return [...Object.values(always), ...Object.values(snapshotCaches ?? {})]
}
