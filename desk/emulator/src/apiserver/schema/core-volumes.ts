/** The types of PersistentVolumes and PersistentVolumeClaims, in the notation of schema.ts. */
export const CORE_VOLUMES = `
AWSElasticBlockStoreVolumeSource
  fsType:2, partition:3 int, readOnly:4 bool, volumeID:1!
AzureDiskVolumeSource
  cachingMode:3?, diskName:1!, diskURI:2!, fsType:4?, kind:6?, readOnly:5? bool
AzureFilePersistentVolumeSource
  readOnly:3 bool, secretName:1!, secretNamespace:4?!, shareName:2!
CSIPersistentVolumeSource
  controllerExpandSecretRef:9? SecretReference, controllerPublishSecretRef:6? SecretReference, driver:1!, fsType:4,
  nodeExpandSecretRef:10? SecretReference, nodePublishSecretRef:8? SecretReference,
  nodeStageSecretRef:7? SecretReference, readOnly:3 bool, volumeAttributes:5 {string}, volumeHandle:2!
CephFSPersistentVolumeSource
  monitors:1! [string], path:2, readOnly:6 bool, secretFile:4, secretRef:5? SecretReference, user:3
CinderPersistentVolumeSource
  fsType:2, readOnly:3 bool, secretRef:4? SecretReference, volumeID:1!
FCVolumeSource
  fsType:3, lun:2? int, readOnly:4 bool, targetWWNs:1 [string], wwids:5 [string]
FlexPersistentVolumeSource
  driver:1!, fsType:2, options:5 {string}, readOnly:4 bool, secretRef:3? SecretReference
FlockerVolumeSource
  datasetName:1, datasetUUID:2
GCEPersistentDiskVolumeSource
  fsType:2, partition:3 int, pdName:1!, readOnly:4 bool
GlusterfsPersistentVolumeSource
  endpoints:1!, endpointsNamespace:4?, path:2!, readOnly:3 bool
HostPathVolumeSource
  path:1!, type:2?
ISCSIPersistentVolumeSource
  chapAuthDiscovery:8 bool, chapAuthSession:11 bool, fsType:5, initiatorName:12?, iqn:2!, iscsiInterface:4,
  lun:3! int, portals:7 [string], readOnly:6 bool, secretRef:10? SecretReference, targetPortal:1!
LocalVolumeSource
  fsType:2?, path:1!
ModifyVolumeStatus
  status:2!, targetVolumeAttributesClassName:1
NFSVolumeSource
  path:2!, readOnly:3 bool, server:1!
NodeSelector
  nodeSelectorTerms:1! [NodeSelectorTerm]
NodeSelectorRequirement
  key:1!, operator:2!, values:3 [string]
NodeSelectorTerm
  matchExpressions:1 [NodeSelectorRequirement], matchFields:2 [NodeSelectorRequirement]
ObjectReference
  apiVersion:5, fieldPath:7, kind:1, name:3, namespace:2, resourceVersion:6, uid:4
PersistentVolume
  metadata:1 ObjectMeta, spec:2 PersistentVolumeSpec, status:3 PersistentVolumeStatus
PersistentVolumeClaim
  metadata:1 ObjectMeta, spec:2 PersistentVolumeClaimSpec, status:3 PersistentVolumeClaimStatus
PersistentVolumeClaimCondition
  lastProbeTime:3 time, lastTransitionTime:4 time, message:6, reason:5, status:2!, type:1!
PersistentVolumeClaimSpec
  accessModes:1 [string], dataSource:7? TypedLocalObjectReference, dataSourceRef:8? TypedObjectReference,
  resources:2 VolumeResourceRequirements, selector:4? LabelSelector, storageClassName:5?,
  volumeAttributesClassName:9?, volumeMode:6?, volumeName:3
PersistentVolumeClaimStatus
  accessModes:2 [string], allocatedResourceStatuses:7 {string}, allocatedResources:5 {quantity},
  capacity:3 {quantity}, conditions:4 [PersistentVolumeClaimCondition]@type, currentVolumeAttributesClassName:8?,
  modifyVolumeStatus:9? ModifyVolumeStatus, phase:1
PersistentVolumeSpec
  accessModes:3 [string], awsElasticBlockStore:2.2? AWSElasticBlockStoreVolumeSource,
  azureDisk:2.16? AzureDiskVolumeSource, azureFile:2.13? AzureFilePersistentVolumeSource, capacity:1 {quantity},
  cephfs:2.9? CephFSPersistentVolumeSource, cinder:2.8? CinderPersistentVolumeSource, claimRef:4? ObjectReference,
  csi:2.22? CSIPersistentVolumeSource, fc:2.10? FCVolumeSource, flexVolume:2.12? FlexPersistentVolumeSource,
  flocker:2.11? FlockerVolumeSource, gcePersistentDisk:2.1? GCEPersistentDiskVolumeSource,
  glusterfs:2.4? GlusterfsPersistentVolumeSource, hostPath:2.3? HostPathVolumeSource,
  iscsi:2.7? ISCSIPersistentVolumeSource, local:2.20? LocalVolumeSource, mountOptions:7 [string],
  nfs:2.5? NFSVolumeSource, nodeAffinity:9? VolumeNodeAffinity, persistentVolumeReclaimPolicy:5,
  photonPersistentDisk:2.17? PhotonPersistentDiskVolumeSource, portworxVolume:2.18? PortworxVolumeSource,
  quobyte:2.15? QuobyteVolumeSource, rbd:2.6? RBDPersistentVolumeSource, scaleIO:2.19? ScaleIOPersistentVolumeSource,
  storageClassName:6, storageos:2.21? StorageOSPersistentVolumeSource, volumeAttributesClassName:10?, volumeMode:8?,
  vsphereVolume:2.14? VsphereVirtualDiskVolumeSource
PersistentVolumeStatus
  lastPhaseTransitionTime:4? time, message:2, phase:1, reason:3
PhotonPersistentDiskVolumeSource
  fsType:2, pdID:1!
PortworxVolumeSource
  fsType:2, readOnly:3 bool, volumeID:1!
QuobyteVolumeSource
  group:5, readOnly:3 bool, registry:1!, tenant:6, user:4, volume:2!
RBDPersistentVolumeSource
  fsType:3, image:2!, keyring:6, monitors:1! [string], pool:4, readOnly:8 bool, secretRef:7? SecretReference, user:5
ScaleIOPersistentVolumeSource
  fsType:9, gateway:1!, protectionDomain:5, readOnly:10 bool, secretRef:3?! SecretReference, sslEnabled:4 bool,
  storageMode:7, storagePool:6, system:2!, volumeName:8
SecretReference
  name:1, namespace:2
StorageOSPersistentVolumeSource
  fsType:3, readOnly:4 bool, secretRef:5? ObjectReference, volumeName:1, volumeNamespace:2
TypedLocalObjectReference
  apiGroup:1?!, kind:2!, name:3!
TypedObjectReference
  apiGroup:1?!, kind:2!, name:3!, namespace:4?
VolumeNodeAffinity
  required:1? NodeSelector
VolumeResourceRequirements
  limits:1 {quantity}, requests:2 {quantity}
VsphereVirtualDiskVolumeSource
  fsType:2, storagePolicyID:4, storagePolicyName:3, volumePath:1!
`
