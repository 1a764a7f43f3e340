/** The group authorization.k8s.io. The notation is that of schema.ts. */
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
