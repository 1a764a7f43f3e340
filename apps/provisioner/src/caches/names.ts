/** The names under which classes, claims and volumes call this driver. */
export interface Names {
  readonly driver: string
  /** The in-tree plugin that the driver has taken over for. */
  readonly inTree: string | undefined
}

/** On claims: the provisioner. The second name is read if the first is missing. */
export const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
export const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner'
/** On claims: the node that the scheduler has selected. The second name is read if the first is missing. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
export const ALPHA_SELECTED_NODE = 'volume.alpha.kubernetes.io/selected-node'
/** On claims and volumes: the CSI driver that has taken over for an in-tree plugin. */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
/** On claims and volumes: the class, which wins over the field. */
export const BETA_STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class'

/** On volumes: the provisioner of the class. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
/** On volumes: the Secret of DeleteVolume. Both are empty if there is none. */
export const DELETION_SECRET_NAME = 'volume.kubernetes.io/provisioner-deletion-secret-name'
export const DELETION_SECRET_NAMESPACE = 'volume.kubernetes.io/provisioner-deletion-secret-namespace'
/** On volumes: the Secret of ControllerModifyVolume. */
export const MODIFY_SECRET_NAME = 'volume.kubernetes.io/controller-modify-secret-name'
export const MODIFY_SECRET_NAMESPACE = 'volume.kubernetes.io/controller-modify-secret-namespace'
/** On volumes that need DeleteVolume. */
export const VOLUME_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer'

/** The volume attribute with the ID of the process that created the volume. */
export const IDENTITY_ATTRIBUTE = 'storage.kubernetes.io/csiProvisionerIdentity'

/** On claims that are cloned. */
export const CLONE_FINALIZER = 'provisioner.storage.kubernetes.io/cloning-protection'
/** On snapshots that are restored. */
export const SNAPSHOT_FINALIZER = 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection'
/** On contents of snapshots: a restored volume may have another mode. */
export const ALLOW_MODE_CHANGE = 'snapshot.storage.kubernetes.io/allow-volume-mode-change'
