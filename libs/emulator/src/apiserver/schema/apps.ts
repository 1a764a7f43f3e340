/** The groups apps and policy, and the template of pods. The notation is that of schema.ts. */
export const APPS = `
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
RollingUpdateDeployment
  maxSurge:2? intOrString, maxUnavailable:1? intOrString
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
