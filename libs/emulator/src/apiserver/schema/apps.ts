/**
 * The groups apps, autoscaling and policy, and the template of pods. The notation is that of schema.ts. A claim in a
 * StatefulSet says its type, which has no number in protobuf: the numbers given here are unused, so readers skip them.
 */
export const APPS = `
ClaimTemplate
  apiVersion:101, kind:102, metadata:1 ObjectMeta, spec:2 PersistentVolumeClaimSpec, status:3 PersistentVolumeClaimStatus
DaemonSet
  metadata:1 ObjectMeta, spec:2 DaemonSetSpec, status:3 DaemonSetStatus
DaemonSetCondition
  lastTransitionTime:3 time, message:5, reason:4, status:2!, type:1!
DaemonSetSpec
  minReadySeconds:4 int, revisionHistoryLimit:6? int, selector:1?! LabelSelector, template:2! PodTemplateSpec,
  updateStrategy:3 DaemonSetUpdateStrategy
DaemonSetStatus
  collisionCount:9? int, conditions:10 [DaemonSetCondition]@type, currentNumberScheduled:1! int,
  desiredNumberScheduled:3! int, numberAvailable:7 int, numberMisscheduled:2! int, numberReady:4! int,
  numberUnavailable:8 int, observedGeneration:5 long, updatedNumberScheduled:6 int
DaemonSetUpdateStrategy
  rollingUpdate:2? RollingUpdateDaemonSet, type:1
Deployment
  metadata:1 ObjectMeta, spec:2 DeploymentSpec, status:3 DeploymentStatus
DeploymentCondition
  lastTransitionTime:7 time, lastUpdateTime:6 time, message:5, reason:4, status:2!, type:1!
DeploymentSpec
  minReadySeconds:5 int, paused:7 bool, progressDeadlineSeconds:9? int, replicas:1? int, revisionHistoryLimit:6? int,
  selector:2?! LabelSelector, strategy:4 DeploymentStrategy, template:3! PodTemplateSpec
DeploymentStatus
  availableReplicas:4 int, collisionCount:8? int, conditions:6 [DeploymentCondition]@type, observedGeneration:1 long,
  readyReplicas:7 int, replicas:2 int, terminatingReplicas:9? int, unavailableReplicas:5 int, updatedReplicas:3 int
DeploymentStrategy
  rollingUpdate:2? RollingUpdateDeployment, type:1
ReplicaSet
  metadata:1 ObjectMeta, spec:2 ReplicaSetSpec, status:3 ReplicaSetStatus
ReplicaSetCondition
  lastTransitionTime:3 time, message:5, reason:4, status:2!, type:1!
ReplicaSetSpec
  minReadySeconds:4 int, replicas:1? int, selector:2?! LabelSelector, template:3 PodTemplateSpec
ReplicaSetStatus
  availableReplicas:5 int, conditions:6 [ReplicaSetCondition]@type, fullyLabeledReplicas:2 int,
  observedGeneration:3 long, readyReplicas:4 int, replicas:1! int, terminatingReplicas:7? int
RollingUpdateDaemonSet
  maxSurge:2? intOrString, maxUnavailable:1? intOrString
RollingUpdateDeployment
  maxSurge:2? intOrString, maxUnavailable:1? intOrString
RollingUpdateStatefulSetStrategy
  maxUnavailable:2? intOrString, partition:1? int
StatefulSet
  metadata:1 ObjectMeta, spec:2 StatefulSetSpec, status:3 StatefulSetStatus
StatefulSetCondition
  lastTransitionTime:3 time, message:5, reason:4, status:2!, type:1!
StatefulSetOrdinals
  start:1! int
StatefulSetPersistentVolumeClaimRetentionPolicy
  whenDeleted:1, whenScaled:2
StatefulSetSpec
  minReadySeconds:9 int, ordinals:11? StatefulSetOrdinals,
  persistentVolumeClaimRetentionPolicy:10? StatefulSetPersistentVolumeClaimRetentionPolicy, podManagementPolicy:6,
  replicas:1? int, revisionHistoryLimit:8? int, selector:2?! LabelSelector, serviceName:5!,
  template:3! PodTemplateSpec, updateStrategy:7 StatefulSetUpdateStrategy, volumeClaimTemplates:4 [ClaimTemplate]
StatefulSetStatus
  availableReplicas:11! int, collisionCount:9? int, conditions:10 [StatefulSetCondition]@type, currentReplicas:4 int,
  currentRevision:6, observedGeneration:1 long, readyReplicas:3 int, replicas:2! int, updateRevision:7,
  updatedReplicas:5 int
StatefulSetUpdateStrategy
  rollingUpdate:2? RollingUpdateStatefulSetStrategy, type:1
`

export const AUTOSCALING = `
Scale
  metadata:1 ObjectMeta, spec:2 ScaleSpec, status:3 ScaleStatus
ScaleSpec
  replicas:1 int
ScaleStatus
  replicas:1! int, selector:2
`

export const POD_TEMPLATE = `
PodTemplateSpec
  metadata:1 ObjectMeta, spec:2 PodSpec
`

export const POLICY = `
Eviction
  deleteOptions:2? DeleteOptions, metadata:1 ObjectMeta
PodDisruptionBudget
  metadata:1 ObjectMeta, spec:2 PodDisruptionBudgetSpec, status:3 PodDisruptionBudgetStatus
PodDisruptionBudgetSpec
  maxUnavailable:3? intOrString, minAvailable:1? intOrString, selector:2? LabelSelector, unhealthyPodEvictionPolicy:4?
PodDisruptionBudgetStatus
  conditions:7 [Condition]@type, currentHealthy:4! int, desiredHealthy:5! int, disruptedPods:2 {time},
  disruptionsAllowed:3! int, expectedPods:6! int, observedGeneration:1 long
`
