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

/** The types of the group apps. The server stores only the metadata of workloads such as Deployments. */
export const APPS = `
DaemonSet
  metadata:1 ObjectMeta
Deployment
  metadata:1 ObjectMeta
ReplicaSet
  metadata:1 ObjectMeta
StatefulSet
  metadata:1 ObjectMeta
`
