/** The names by which StorageClasses, claims and PersistentVolumes refer to this driver. */
export interface DriverNames {
  readonly driver: string
  /** The in-tree plugin that is migrated to the driver. Undefined if there is none. */
  readonly inTree: string | undefined
}

/** Annotations of claims that name the provisioner. The beta annotation is read if the first is missing. */
export const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner'
export const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner'
/** Annotations of claims that name the selected node. The alpha annotation is read if the first is missing. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
export const ALPHA_SELECTED_NODE = 'volume.alpha.kubernetes.io/selected-node'
/** The annotation of claims and volumes that names the CSI driver to which their in-tree plugin is migrated. */
export const MIGRATED_TO = 'pv.kubernetes.io/migrated-to'
/** The annotation of claims and volumes that names the StorageClass. It overrides `spec.storageClassName`. */
export const BETA_STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class'

/** The annotation of PersistentVolumes that names the provisioner of their StorageClass. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
/** Annotations of PersistentVolumes that name the Secret for DeleteVolume. Both are empty if there is none. */
export const DELETION_SECRET_NAME = 'volume.kubernetes.io/provisioner-deletion-secret-name'
export const DELETION_SECRET_NAMESPACE = 'volume.kubernetes.io/provisioner-deletion-secret-namespace'
/** Annotations of PersistentVolumes that name the Secret for ControllerModifyVolume. */
export const MODIFY_SECRET_NAME = 'volume.kubernetes.io/controller-modify-secret-name'
export const MODIFY_SECRET_NAMESPACE = 'volume.kubernetes.io/controller-modify-secret-namespace'
/** The finalizer that keeps a PersistentVolume until DeleteVolume has succeeded. */
export const VOLUME_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer'

/** The volume attribute with the ID of the process that created the volume. */
export const IDENTITY_ATTRIBUTE = 'storage.kubernetes.io/csiProvisionerIdentity'

/** The finalizer of claims while their volumes are being cloned. */
export const CLONE_FINALIZER = 'provisioner.storage.kubernetes.io/cloning-protection'
/** The finalizer of VolumeSnapshots while they are being restored. */
export const SNAPSHOT_FINALIZER = 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection'
/** The annotation of VolumeSnapshotContents that allows a restored volume to have another volume mode. */
export const ALLOW_MODE_CHANGE = 'snapshot.storage.kubernetes.io/allow-volume-mode-change'
