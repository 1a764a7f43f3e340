/** The annotations and the finalizer of one kind of content. */
export interface ContentNames {
  /** Ours: a creation was sent to the driver and has not ended for sure. */
  readonly beingCreated: string
  /** The snapshot-controller's: the content is to be deleted. */
  readonly beingDeleted: string
  readonly secretName: string
  readonly secretNamespace: string
  /** The snapshot-controller adds it; the snapshotter removes it. */
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

/** On single contents: the snapshot is a member of a group snapshot, which was created as a whole. */
export const MEMBER_ANNOTATION = 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle'
/** The label with the node whose snapshotter is responsible. It is used with --node-deployment. */
export const NODE_LABEL = 'snapshot.storage.kubernetes.io/managed-by'
export const RESERVED_PREFIX = 'csi.storage.k8s.io/'
