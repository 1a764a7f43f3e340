/** The other types of the core group, in the notation of schema.ts. */
export const CORE_OTHER = `
Binding
  metadata:1 ObjectMeta, target:2! ObjectReference
ConfigMap
  binaryData:3 {bytes}, data:2 {string}, immutable:4? bool, metadata:1 ObjectMeta
Event
  action:12, count:8 int, eventTime:10 microtime, firstTimestamp:6 time, involvedObject:2 ObjectReference,
  lastTimestamp:7 time, message:4, metadata:1 ObjectMeta, reason:3, related:13? ObjectReference,
  reportingComponent:14!, reportingInstance:15!, series:11? EventSeries, source:5 EventSource, type:9
EventSeries
  count:1 int, lastObservedTime:2 microtime
EventSource
  component:1, host:2
Namespace
  metadata:1 ObjectMeta, spec:2 NamespaceSpec, status:3 NamespaceStatus
NamespaceCondition
  lastTransitionTime:4 time, message:6, reason:5, status:2!, type:1!
NamespaceSpec
  finalizers:1 [string]
NamespaceStatus
  conditions:2 [NamespaceCondition]@type, phase:1
Secret
  data:2 {bytes}, immutable:5? bool, metadata:1 ObjectMeta, stringData:4 {string}, type:3
ServiceAccount
  automountServiceAccountToken:4? bool, imagePullSecrets:3 [LocalObjectReference], metadata:1 ObjectMeta,
  secrets:2 [ObjectReference]@name
TopologySelectorLabelRequirement
  key:1!, values:2! [string]
TopologySelectorTerm
  matchLabelExpressions:1 [TopologySelectorLabelRequirement]
`
