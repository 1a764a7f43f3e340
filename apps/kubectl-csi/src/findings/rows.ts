import type { RowKey } from './finding.ts'

const ATTACHMENTS = 'VolumeAttachments'
const RESIZING = 'Claims: resizing'
const MODIFYING = 'Claims: modifying'
const VOLUMES = 'PersistentVolumes'
const SIDECARS = 'Pods of the sidecars'
const PODS = 'Pods that wait for volumes'

/** The rows of docs/operations.md that findings point to. Their text is there only; a test looks each of them up. */
export const ROWS = {
  attachNotBegun: { heading: ATTACHMENTS, see: 'no status, no finalizer of ours' },
  nodeWithoutDriver: { heading: ATTACHMENTS, see: 'does not contain driver' },
  volumeMissing: { heading: ATTACHMENTS, see: '`attachError`: `persistentvolume "<pv>" not found`' },
  volumeBeingDeleted: { heading: ATTACHMENTS, see: 'is marked for deletion' },
  secretUnreadable: { heading: ATTACHMENTS, see: 'failed to load secret' },
  driverTooSlow: { heading: ATTACHMENTS, see: 'code = DeadlineExceeded' },
  nodeFull: { heading: ATTACHMENTS, see: 'code = ResourceExhausted' },
  driverUnavailable: { heading: ATTACHMENTS, see: 'code = Unavailable' },
  attachedElsewhere: { heading: ATTACHMENTS, see: 'code = FailedPrecondition' },
  driverRefuses: { heading: ATTACHMENTS, see: 'any other `rpc error`' },
  detachFails: { heading: ATTACHMENTS, see: 'being deleted, with `detachError`' },
  nodeLost: { heading: ATTACHMENTS, see: 'its node does not exist' },
  migrationOff: { heading: ATTACHMENTS, see: 'migrated-plugins' },
  volumeGone: { heading: ATTACHMENTS, see: 'being deleted, `detachError`: `persistentvolume "<pv>" not found`' },
  detachSilent: { heading: ATTACHMENTS, see: 'being deleted, no error, nothing happens' },
  foreignFinalizer: { heading: VOLUMES, see: 'a finalizer that is not one of ours' },
  volumeStillAttached: { heading: VOLUMES, see: 'with the finalizer `external-attacher/<driver>`' },
  resizing: { heading: RESIZING, see: 'condition `Resizing`' },
  resizeFailed: { heading: RESIZING, see: 'condition `ControllerResizeError`' },
  infeasibleSize: { heading: RESIZING, see: '`ControllerResizeInfeasible`' },
  claimInUse: { heading: RESIZING, see: 'only supports offline expansion' },
  nodeResizePending: { heading: RESIZING, see: 'condition `FileSystemResizePending`' },
  nodeResizeFailed: { heading: RESIZING, see: '`NodeResizeInfeasible`' },
  resizeNotBegun: { heading: RESIZING, see: 'nothing at all' },
  modifyNotBegun: { heading: MODIFYING, see: 'no `modifyVolumeStatus`' },
  modifyUnsupported: { heading: MODIFYING, see: 'does not support ControllerModifyVolume' },
  classMissing: { heading: MODIFYING, see: '`modifyVolumeStatus.status: Pending`' },
  modifying: { heading: MODIFYING, see: '`InProgress`, condition `ModifyingVolume`' },
  modifyInfeasible: { heading: MODIFYING, see: '`Infeasible`, condition `ModifyVolumeError`' },
  containerNotReady: { heading: SIDECARS, see: '`/readyz` says the driver is gone' },
  pendingOnly: { heading: SIDECARS, see: 'pending work whose object' },
  noLeader: { heading: SIDECARS, see: 'no replica leads' },
  twoLeaders: { heading: SIDECARS, see: 'two replicas lead' },
  multiAttach: { heading: PODS, see: 'Multi-Attach error' },
  notAskedFor: { heading: PODS, see: 'no VolumeAttachment' },
  notScheduled: { heading: PODS, see: 'is not scheduled' },
  apiRefuses: { heading: PODS, see: 'denied the request' },
  noClass: { heading: PODS, see: 'names no StorageClass' },
  volumeOfAnother: { heading: PODS, see: 'a volume that it does not get' },
  provisioningFails: { heading: PODS, see: '`ProvisioningFailed`' },
  deleteFails: { heading: VOLUMES, see: '`Released` or `Failed`' },
  nodeGone: { heading: PODS, see: 'does not exist or is not ready' },
  podEnding: { heading: PODS, see: '`Terminating`' },
  claimNotBound: { heading: PODS, see: 'is not bound' },
  mountPending: { heading: PODS, see: 'all of its volumes are attached' },
} as const satisfies Readonly<Record<string, RowKey>>
