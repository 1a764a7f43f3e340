/** The types of Nodes, in the notation of schema.ts. */
export const CORE_NODES = `
AttachedVolume
  devicePath:2!, name:1!
ConfigMapNodeConfigSource
  kubeletConfigKey:5!, name:2!, namespace:1!, resourceVersion:4, uid:3
ContainerImage
  names:1! [string], sizeBytes:2 long
DaemonEndpoint
  Port:1! int
Node
  metadata:1 ObjectMeta, spec:2 NodeSpec, status:3 NodeStatus
NodeAddress
  address:2!, type:1!
NodeCondition
  lastHeartbeatTime:3 time, lastTransitionTime:4 time, message:6, reason:5, status:2!, type:1!
NodeConfigSource
  configMap:2? ConfigMapNodeConfigSource
NodeConfigStatus
  active:2? NodeConfigSource, assigned:1? NodeConfigSource, error:4, lastKnownGood:3? NodeConfigSource
NodeDaemonEndpoints
  kubeletEndpoint:1 DaemonEndpoint
NodeFeatures
  supplementalGroupsPolicy:1? bool
NodeRuntimeHandler
  features:2? NodeRuntimeHandlerFeatures, name:1!
NodeRuntimeHandlerFeatures
  recursiveReadOnlyMounts:1? bool, userNamespaces:2? bool
NodeSpec
  configSource:6? NodeConfigSource, externalID:2, podCIDR:1, podCIDRs:7 [string]@, providerID:3, taints:5 [Taint],
  unschedulable:4 bool
NodeStatus
  addresses:5 [NodeAddress]@type, allocatable:2 {quantity}, capacity:1 {quantity}, conditions:4 [NodeCondition]@type,
  config:11? NodeConfigStatus, daemonEndpoints:6 NodeDaemonEndpoints, declaredFeatures:14 [string],
  features:13? NodeFeatures, images:8 [ContainerImage], nodeInfo:7 NodeSystemInfo, phase:3,
  runtimeHandlers:12 [NodeRuntimeHandler], volumesAttached:10 [AttachedVolume], volumesInUse:9 [string]
NodeSwapStatus
  capacity:1? long
NodeSystemInfo
  architecture:10!, bootID:3!, containerRuntimeVersion:6!, kernelVersion:4!, kubeProxyVersion:8!, kubeletVersion:7!,
  machineID:1!, operatingSystem:9!, osImage:5!, swap:11? NodeSwapStatus, systemUUID:2!
Taint
  effect:3!, key:1!, timeAdded:4? time, value:2
`

/** The types of the core group except Nodes, Pods and volumes, in the notation of schema.ts. */
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
