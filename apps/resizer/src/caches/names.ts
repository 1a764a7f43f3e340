/** The annotation of a claim with the CSI driver or the in-tree plugin that resizes its volume, for CSI migration. */
export const RESIZER_ANNOTATION = 'volume.kubernetes.io/storage-resizer'
/** The annotation of a claim whose file system the kubelet does not have to expand. */
export const NO_NODE_EXPANSION_ANNOTATION = 'volume.kubernetes.io/node-expansion-not-required'
/** The annotation of a PersistentVolume with the old capacity of the claim, until the kubelet has finished. */
export const PRE_RESIZE_ANNOTATION = 'volume.alpha.kubernetes.io/pre-resize-capacity'
/** The annotations of a volume that name the Secret for modifications. They count only if both are set. */
export const MODIFY_SECRET_NAME_ANNOTATION = 'volume.kubernetes.io/controller-modify-secret-name'
export const MODIFY_SECRET_NAMESPACE_ANNOTATION = 'volume.kubernetes.io/controller-modify-secret-namespace'

/** The values of `status.allocatedResourceStatuses.storage`, which show the progress of an expansion. */
export const SIZE_STATUS = {
  controllerInProgress: 'ControllerResizeInProgress',
  controllerInfeasible: 'ControllerResizeInfeasible',
  nodePending: 'NodeResizePending',
  nodeInProgress: 'NodeResizeInProgress',
  nodeInfeasible: 'NodeResizeInfeasible',
} as const

/** The values of `status.modifyVolumeStatus.status`, which show the progress of a modification. */
export const MODIFY_STATUS = { pending: 'Pending', inProgress: 'InProgress', infeasible: 'Infeasible' } as const

/** The types of the claim conditions that the resizer writes or removes. The kubelet writes `nodeError`. */
export const CONDITION = {
  resizing: 'Resizing',
  nodeStepPending: 'FileSystemResizePending',
  controllerError: 'ControllerResizeError',
  nodeError: 'NodeResizeError',
  modifyingVolume: 'ModifyingVolume',
  modifyError: 'ModifyVolumeError',
} as const
