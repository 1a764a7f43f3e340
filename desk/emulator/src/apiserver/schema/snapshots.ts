/**
 * The types of the groups snapshot.storage.k8s.io and groupsnapshot.storage.k8s.io of external-snapshotter v8.7.0, in
 * the notation of schema.ts. The field numbers are unused, because custom resources have no protobuf form.
 */
export const SNAPSHOTS = `
VolumeSnapshotClass
  metadata:1 ObjectMeta, driver:2?, parameters:3? {string}, deletionPolicy:4?
VolumeSnapshot
  metadata:1 ObjectMeta, spec:2? VolumeSnapshotSpec, status:3? VolumeSnapshotStatus
VolumeSnapshotSpec
  source:1? VolumeSnapshotSource, volumeSnapshotClassName:2?
VolumeSnapshotSource
  persistentVolumeClaimName:1?, volumeSnapshotContentName:2?
VolumeSnapshotStatus
  boundVolumeSnapshotContentName:1?, creationTime:2?, readyToUse:3? bool, restoreSize:4? intOrString,
  error:5? VolumeSnapshotError, volumeGroupSnapshotName:6?
VolumeSnapshotError
  time:1?, message:2?
VolumeSnapshotContent
  metadata:1 ObjectMeta, spec:2? VolumeSnapshotContentSpec, status:3? VolumeSnapshotContentStatus
VolumeSnapshotContentSpec
  volumeSnapshotRef:1? ObjectReference, deletionPolicy:2?, driver:3?, volumeSnapshotClassName:4?,
  source:5? VolumeSnapshotContentSource, sourceVolumeMode:6?
VolumeSnapshotContentSource
  volumeHandle:1?, snapshotHandle:2?
VolumeSnapshotContentStatus
  snapshotHandle:1?, creationTime:2? long, restoreSize:3? long, readyToUse:4? bool, error:5? VolumeSnapshotError,
  volumeGroupSnapshotHandle:6?
`

export const GROUP_SNAPSHOTS = `
VolumeGroupSnapshotClass
  metadata:1 ObjectMeta, driver:2?, parameters:3? {string}, deletionPolicy:4?
VolumeGroupSnapshot
  metadata:1 ObjectMeta, spec:2? VolumeGroupSnapshotSpec, status:3? VolumeGroupSnapshotStatus
VolumeGroupSnapshotSpec
  source:1? VolumeGroupSnapshotSource, volumeGroupSnapshotClassName:2?
VolumeGroupSnapshotSource
  selector:1? LabelSelector, volumeGroupSnapshotContentName:2?
VolumeGroupSnapshotStatus
  boundVolumeGroupSnapshotContentName:1?, creationTime:2?, readyToUse:3? bool, error:4? VolumeSnapshotError
VolumeGroupSnapshotContent
  metadata:1 ObjectMeta, spec:2? VolumeGroupSnapshotContentSpec, status:3? VolumeGroupSnapshotContentStatus
VolumeGroupSnapshotContentSpec
  volumeGroupSnapshotRef:1? ObjectReference, deletionPolicy:2?, driver:3?, volumeGroupSnapshotClassName:4?,
  source:5? VolumeGroupSnapshotContentSource
VolumeGroupSnapshotContentSource
  volumeHandles:1? [string], groupSnapshotHandles:2? GroupSnapshotHandles
GroupSnapshotHandles
  volumeGroupSnapshotHandle:1?, volumeSnapshotHandles:2? [string]
VolumeGroupSnapshotContentStatus
  volumeGroupSnapshotHandle:1?, creationTime:2?, readyToUse:3? bool, error:4? VolumeSnapshotError,
  volumeSnapshotInfoList:5? [VolumeSnapshotInfo]
VolumeSnapshotInfo
  volumeHandle:1?, snapshotHandle:2?, creationTime:3? long, readyToUse:4? bool, restoreSize:5? long
`
