import type { V1LabelSelector, V1ObjectReference } from '@kubernetes/client-node'
import type { KubeObject } from './meta.ts'
import type { Wire } from './wire.ts'

/** The fate of the snapshot in the storage system when its VolumeSnapshotContent is deleted. */
export type DeletionPolicy = 'Delete' | 'Retain'

/** The last failure of a snapshot, in its status. */
export interface SnapshotError {
  readonly time?: string | undefined
  readonly message?: string | undefined
}

/** A VolumeSnapshotClass, or a VolumeGroupSnapshotClass: both have the same fields. */
export interface VolumeSnapshotClass extends KubeObject {
  readonly driver: string
  readonly parameters?: Readonly<Record<string, string>> | undefined
  readonly deletionPolicy: DeletionPolicy
}

/** A user's request for a snapshot, with the fields that a sidecar reads. */
export interface VolumeSnapshot extends KubeObject {
  readonly spec: {
    /** The source of the snapshot: exactly one of the fields is set. */
    readonly source: {
      readonly persistentVolumeClaimName?: string | undefined
      readonly volumeSnapshotContentName?: string | undefined
    }
    readonly volumeSnapshotClassName?: string | undefined
  }
  readonly status?: VolumeSnapshotStatus | undefined
}

/** The status of a VolumeSnapshot. Only the snapshot controller writes it. */
export interface VolumeSnapshotStatus {
  readonly boundVolumeSnapshotContentName?: string | undefined
  readonly creationTime?: string | undefined
  readonly readyToUse?: boolean | undefined
  /** The size of the snapshot as a quantity. */
  readonly restoreSize?: string | undefined
  readonly error?: SnapshotError | undefined
  readonly volumeGroupSnapshotName?: string | undefined
}

/** A snapshot in the back end, with the fields that a sidecar reads. */
export interface VolumeSnapshotContent extends KubeObject {
  readonly spec: {
    readonly volumeSnapshotRef: Wire<V1ObjectReference>
    readonly deletionPolicy: DeletionPolicy
    readonly driver: string
    readonly volumeSnapshotClassName?: string | undefined
    /** One of the fields is set: the source volume, or an existing snapshot. */
    readonly source: { readonly volumeHandle?: string | undefined; readonly snapshotHandle?: string | undefined }
    readonly sourceVolumeMode?: string | undefined
  }
  readonly status?: VolumeSnapshotContentStatus | undefined
}

/** The status of a VolumeSnapshotContent. The snapshotter writes it. */
export interface VolumeSnapshotContentStatus {
  readonly snapshotHandle?: string | undefined
  /** The time of the snapshot in nanoseconds since 1970. JSON numbers of this size lose two or three digits. */
  readonly creationTime?: number | undefined
  /** The size of the snapshot in bytes. */
  readonly restoreSize?: number | undefined
  readonly readyToUse?: boolean | undefined
  readonly error?: SnapshotError | undefined
  readonly volumeGroupSnapshotHandle?: string | undefined
}

/** A user's request for snapshots of several volumes at one moment. */
export interface VolumeGroupSnapshot extends KubeObject {
  readonly spec: {
    /** The source of the group snapshot: exactly one of the fields is set. */
    readonly source: {
      readonly selector?: Wire<V1LabelSelector> | undefined
      readonly volumeGroupSnapshotContentName?: string | undefined
    }
    readonly volumeGroupSnapshotClassName?: string | undefined
  }
  readonly status?: VolumeGroupSnapshotStatus | undefined
}

/** The status of a VolumeGroupSnapshot. Only the snapshot controller writes it. */
export interface VolumeGroupSnapshotStatus {
  readonly boundVolumeGroupSnapshotContentName?: string | undefined
  readonly creationTime?: string | undefined
  readonly readyToUse?: boolean | undefined
  readonly error?: SnapshotError | undefined
}

/** A group snapshot in the back end, with the fields that a sidecar reads. */
export interface VolumeGroupSnapshotContent extends KubeObject {
  readonly spec: {
    readonly volumeGroupSnapshotRef: Wire<V1ObjectReference>
    readonly deletionPolicy: DeletionPolicy
    readonly driver: string
    readonly volumeGroupSnapshotClassName?: string | undefined
    /** One of the fields is set: the source volumes, or an existing group snapshot. */
    readonly source: {
      readonly volumeHandles?: readonly string[] | undefined
      readonly groupSnapshotHandles?: GroupSnapshotHandles | undefined
    }
  }
  readonly status?: VolumeGroupSnapshotContentStatus | undefined
}

/** The handles of an existing group snapshot and of its members. */
export interface GroupSnapshotHandles {
  readonly volumeGroupSnapshotHandle: string
  readonly volumeSnapshotHandles: readonly string[]
}

/** The status of a VolumeGroupSnapshotContent. The snapshotter writes it. */
export interface VolumeGroupSnapshotContentStatus {
  readonly volumeGroupSnapshotHandle?: string | undefined
  readonly creationTime?: string | undefined
  readonly readyToUse?: boolean | undefined
  readonly error?: SnapshotError | undefined
  readonly volumeSnapshotInfoList?: readonly VolumeSnapshotInfo[] | undefined
}

/** One snapshot of a group. */
export interface VolumeSnapshotInfo {
  readonly volumeHandle?: string | undefined
  readonly snapshotHandle?: string | undefined
  /** Nanoseconds since 1970, like the creation time of a VolumeSnapshotContent. */
  readonly creationTime?: number | undefined
  readonly readyToUse?: boolean | undefined
  readonly restoreSize?: number | undefined
}
