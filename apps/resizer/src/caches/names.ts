/** On claims: who resizes the volume, a CSI driver or an in-tree plugin. Written where volumes are migrated. */
export const RESIZER_ANNOTATION = 'volume.kubernetes.io/storage-resizer'
/** On claims: kubelet has nothing to expand. */
export const NO_NODE_EXPANSION_ANNOTATION = 'volume.kubernetes.io/node-expansion-not-required'
/** On volumes that wait for kubelet: the claim's capacity before the expansion. */
export const PRE_RESIZE_ANNOTATION = 'volume.alpha.kubernetes.io/pre-resize-capacity'
/** The annotations of a volume that name the Secret for modifications. They count only if both are set. */
export const MODIFY_SECRET_NAME_ANNOTATION = 'volume.kubernetes.io/controller-modify-secret-name'
export const MODIFY_SECRET_NAMESPACE_ANNOTATION = 'volume.kubernetes.io/controller-modify-secret-namespace'

/** `status.allocatedResourceStatuses.storage`: how far an expansion has come. */
export const SIZE_STATUS = {
  controllerInProgress: 'ControllerResizeInProgress',
  controllerInfeasible: 'ControllerResizeInfeasible',
  nodePending: 'NodeResizePending',
  nodeInProgress: 'NodeResizeInProgress',
  nodeInfeasible: 'NodeResizeInfeasible',
} as const

/** `status.modifyVolumeStatus.status`. */
export const MODIFY_STATUS = { pending: 'Pending', inProgress: 'InProgress', infeasible: 'Infeasible' } as const

/** Conditions of claims that are written here; kubelet writes `nodeError` too. */
export const CONDITION = {
  resizing: 'Resizing',
  nodeStepPending: 'FileSystemResizePending',
  controllerError: 'ControllerResizeError',
  nodeError: 'NodeResizeError',
  modifying: 'ModifyingVolume',
  modifyError: 'ModifyVolumeError',
} as const
