/** Names of annotations and the finalizer, either of VolumeSnapshotContents or of VolumeGroupSnapshotContents. */
export interface ContentNames {
  /** The annotation that the snapshotter sets while the driver may be creating the snapshot. */
  readonly beingCreated: string
  /** The annotation that the snapshot-controller sets on an object that is to be deleted. */
  readonly beingDeleted: string
  readonly secretName: string
  readonly secretNamespace: string
  /** The finalizer that the snapshot-controller adds and the snapshotter removes. */
  readonly finalizer: string
}

export const SNAPSHOT_NAMES: ContentNames = {
  beingCreated: 'snapshot.storage.kubernetes.io/volumesnapshot-being-created',
  beingDeleted: 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted',
  secretName: 'snapshot.storage.kubernetes.io/deletion-secret-name',
  secretNamespace: 'snapshot.storage.kubernetes.io/deletion-secret-namespace',
  finalizer: 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection',
}

export const GROUP_NAMES: ContentNames = {
  beingCreated: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created',
  beingDeleted: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted',
  secretName: 'groupsnapshot.storage.kubernetes.io/deletion-secret-name',
  secretNamespace: 'groupsnapshot.storage.kubernetes.io/deletion-secret-namespace',
  finalizer: 'groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection',
}

/** The annotation of a VolumeSnapshotContent whose snapshot is a member of a group snapshot. */
export const MEMBER_ANNOTATION = 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle'
/** The label of snapshot contents that names the node of the responsible snapshotter with `--node-deployment`. */
export const NODE_LABEL = 'snapshot.storage.kubernetes.io/managed-by'
export const RESERVED_PREFIX = 'csi.storage.k8s.io/'
