// The types of the groups that are not about volumes, in the notation of schema.ts.

/** The types of the group authentication.k8s.io. */
export const AUTHENTICATION = `
SelfSubjectReview
  metadata:1 ObjectMeta, status:2 SelfSubjectReviewStatus
SelfSubjectReviewStatus
  userInfo:1 UserInfo
TokenReview
  metadata:1 ObjectMeta, spec:2 TokenReviewSpec, status:3 TokenReviewStatus
TokenReviewSpec
  audiences:2 [string], token:1
TokenReviewStatus
  audiences:4 [string], authenticated:1 bool, error:3, user:2 UserInfo
UserInfo
  extra:4 {[string]}, groups:3 [string], uid:2, username:1
AccountTokenRequest
  metadata:1 ObjectMeta, spec:2 AccountTokenRequestSpec
AccountTokenRequestSpec
  audiences:1 [string], expirationSeconds:4? long
`

/** The types of the group authorization.k8s.io. */
export const AUTHORIZATION = `
FieldSelectorAttributes
  rawSelector:1, requirements:2 [FieldSelectorRequirement]
LabelSelectorAttributes
  rawSelector:1, requirements:2 [LabelSelectorRequirement]
NonResourceAttributes
  path:1, verb:2
ResourceAttributes
  fieldSelector:8? FieldSelectorAttributes, group:3, labelSelector:9? LabelSelectorAttributes, name:7, namespace:1,
  resource:5, subresource:6, verb:2, version:4
SelfSubjectAccessReview
  metadata:1 ObjectMeta, spec:2! SelfSubjectAccessReviewSpec, status:3 SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec
  nonResourceAttributes:2? NonResourceAttributes, resourceAttributes:1? ResourceAttributes
SubjectAccessReview
  metadata:1 ObjectMeta, spec:2 SubjectAccessReviewSpec, status:3 SubjectAccessReviewStatus
SubjectAccessReviewSpec
  extra:5 {[string]}, groups:4 [string], nonResourceAttributes:2? NonResourceAttributes,
  resourceAttributes:1? ResourceAttributes, uid:6, user:3
SubjectAccessReviewStatus
  allowed:1! bool, denied:4 bool, evaluationError:3, reason:2
`

/** The types of the group rbac.authorization.k8s.io. */
export const RBAC = `
AggregationRule
  clusterRoleSelectors:1 [LabelSelector]
ClusterRole
  aggregationRule:3? AggregationRule, metadata:1 ObjectMeta, rules:2! [PolicyRule]
ClusterRoleBinding
  metadata:1 ObjectMeta, roleRef:3 RoleRef, subjects:2 [Subject]
PolicyRule
  apiGroups:2 [string], nonResourceURLs:5 [string], resourceNames:4 [string], resources:3 [string], verbs:1! [string]
Role
  metadata:1 ObjectMeta, rules:2! [PolicyRule]
RoleBinding
  metadata:1 ObjectMeta, roleRef:3 RoleRef, subjects:2 [Subject]
RoleRef
  apiGroup:1!, kind:2!, name:3!
Subject
  apiGroup:2, kind:1!, name:3!, namespace:4
`

/** The types of the group coordination.k8s.io. */
export const COORDINATION = `
Lease
  metadata:1 ObjectMeta, spec:2 LeaseSpec
LeaseSpec
  acquireTime:3? microtime, holderIdentity:1?, leaseDurationSeconds:2? int, leaseTransitions:5? int,
  preferredHolder:7?, renewTime:4? microtime, strategy:6?
`

/**
 * The types of the group apps. Of workloads such as Deployments, the server stores the metadata and the `spec`. They have
 * no status, because no controller runs.
 */
export const APPS = `
DaemonSet
  metadata:1 ObjectMeta, spec:2 DaemonSetSpec
DaemonSetSpec
  minReadySeconds:4 int, revisionHistoryLimit:6? int, selector:1? LabelSelector, template:2 PodTemplateSpec,
  updateStrategy:3~ DaemonSetUpdateStrategy
DaemonSetUpdateStrategy
  rollingUpdate:2? RollingUpdateDaemonSet, type:1
Deployment
  metadata:1 ObjectMeta, spec:2 DeploymentSpec
DeploymentSpec
  minReadySeconds:5 int, paused:7 bool, progressDeadlineSeconds:9? int, replicas:1? int, revisionHistoryLimit:6? int,
  selector:2? LabelSelector, strategy:4~ DeploymentStrategy, template:3 PodTemplateSpec
DeploymentStrategy
  rollingUpdate:2? RollingUpdateDeployment, type:1
ReplicaSet
  metadata:1 ObjectMeta
RollingUpdateDaemonSet
  maxSurge:2? intOrString, maxUnavailable:1? intOrString
RollingUpdateDeployment
  maxSurge:2? intOrString, maxUnavailable:1? intOrString
RollingUpdateStatefulSetStrategy
  maxUnavailable:2? intOrString, partition:1? int
StatefulSet
  metadata:1 ObjectMeta, spec:2 StatefulSetSpec
StatefulSetSpec
  minReadySeconds:9 int, podManagementPolicy:6, replicas:1? int, revisionHistoryLimit:8? int, selector:2? LabelSelector,
  serviceName:5, template:3 PodTemplateSpec, updateStrategy:7~ StatefulSetUpdateStrategy,
  volumeClaimTemplates:4 [PersistentVolumeClaim]
StatefulSetUpdateStrategy
  rollingUpdate:2? RollingUpdateStatefulSetStrategy, type:1
`

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
