/** The types that all objects share, in the notation of schema.ts. */
export const META = `
Condition
  lastTransitionTime:4! time, message:6!, observedGeneration:3 long, reason:5!, status:2!, type:1!
DeleteOptions
  dryRun:5 [string], gracePeriodSeconds:1? long, orphanDependents:3? bool, preconditions:2? Preconditions,
  propagationPolicy:4?
FieldSelectorRequirement
  key:1!, operator:2!, values:3 [string]
LabelSelector
  matchExpressions:2 [LabelSelectorRequirement], matchLabels:1 {string}
LabelSelectorRequirement
  key:1!, operator:2!, values:3 [string]
ListMeta
  continue:3, remainingItemCount:4? long, resourceVersion:2, selfLink:1
ManagedFieldsEntry
  apiVersion:3, fieldsType:6, fieldsV1:7? any, manager:1, operation:2, subresource:8, time:4? time
ObjectMeta
  annotations:12 {string}, creationTimestamp:8~ time, deletionGracePeriodSeconds:10? long, deletionTimestamp:9? time,
  finalizers:14 [string]@, generateName:2, generation:7 long, labels:11 {string},
  managedFields:17 [ManagedFieldsEntry], name:1, namespace:3, ownerReferences:13 [OwnerReference]@uid,
  resourceVersion:6, selfLink:4, uid:5
OwnerReference
  apiVersion:5!, blockOwnerDeletion:7? bool, controller:6? bool, kind:1!, name:3!, uid:4!
Preconditions
  resourceVersion:2?, uid:1?
Status
  code:6 int, details:5? StatusDetails, message:3, metadata:1 ListMeta, reason:4, status:2
StatusCause
  field:3, message:2, reason:1
StatusDetails
  causes:4 [StatusCause], group:2, kind:3, name:1, retryAfterSeconds:5 int, uid:6
`
