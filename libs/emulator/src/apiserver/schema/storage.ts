/** The types of the group storage.k8s.io, in the notation of schema.ts. */
export const STORAGE = `
CSIDriver
  metadata:1 ObjectMeta, spec:2 CSIDriverSpec
CSIDriverSpec
  attachRequired:1? bool, fsGroupPolicy:5?, nodeAllocatableUpdatePeriodSeconds:9? long, podInfoOnMount:2? bool,
  preventPodSchedulingIfMissing:11? bool, requiresRepublish:7? bool, seLinuxMount:8? bool,
  serviceAccountTokenInSecrets:10? bool, storageCapacity:4? bool, tokenRequests:6 [TokenRequest],
  volumeLifecycleModes:3 [string]
CSIStorageCapacity
  capacity:4? quantity, maximumVolumeSize:5? quantity, metadata:1 ObjectMeta, nodeTopology:2? LabelSelector,
  storageClassName:3!
CSINode
  metadata:1 ObjectMeta, spec:2 CSINodeSpec
CSINodeDriver
  allocatable:4? VolumeNodeResources, name:1!, nodeID:2!, topologyKeys:3! [string]
CSINodeSpec
  drivers:1! [CSINodeDriver]@name
StorageClass
  allowVolumeExpansion:6? bool, allowedTopologies:8 [TopologySelectorTerm], metadata:1 ObjectMeta,
  mountOptions:5 [string], parameters:3 {string}, provisioner:2!, reclaimPolicy:4?, volumeBindingMode:7?
TokenRequest
  audience:1!, expirationSeconds:2? long
VolumeAttachment
  metadata:1 ObjectMeta, spec:2 VolumeAttachmentSpec, status:3 VolumeAttachmentStatus
VolumeAttachmentSource
  inlineVolumeSpec:2? PersistentVolumeSpec, persistentVolumeName:1?
VolumeAttachmentSpec
  attacher:1!, nodeName:3!, source:2 VolumeAttachmentSource
VolumeAttachmentStatus
  attachError:3? VolumeError, attached:1! bool, attachmentMetadata:2 {string}, detachError:4? VolumeError
VolumeAttributesClass
  driverName:2!, metadata:1 ObjectMeta, parameters:3 {string}
VolumeError
  errorCode:3? int, message:2, time:1 time
VolumeNodeResources
  count:1? int
`
