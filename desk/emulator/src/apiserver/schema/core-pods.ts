/** The types of Pods without their volumes, in the notation of schema.ts. */
export const CORE_PODS = `
Affinity
  nodeAffinity:1? NodeAffinity, podAffinity:2? PodAffinity, podAntiAffinity:3? PodAntiAffinity
AppArmorProfile
  localhostProfile:2?, type:1!
Capabilities
  add:1 [string], drop:2 [string]
ConfigMapEnvSource
  name:1.1, optional:2? bool
ConfigMapKeySelector
  key:2!, name:1.1, optional:3? bool
Container
  args:4 [string], command:3 [string], env:7 [EnvVar]@name, envFrom:19 [EnvFromSource], image:2, imagePullPolicy:14,
  lifecycle:12? Lifecycle, livenessProbe:10? Probe, name:1!, ports:6 [ContainerPort]@containerPort,
  readinessProbe:11? Probe, resizePolicy:23 [ContainerResizePolicy], resources:8 ResourceRequirements,
  restartPolicy:24?, restartPolicyRules:25 [ContainerRestartRule], securityContext:15? SecurityContext,
  startupProbe:22? Probe, stdin:16 bool, stdinOnce:17 bool, terminationMessagePath:13, terminationMessagePolicy:20,
  tty:18 bool, volumeDevices:21 [VolumeDevice]@devicePath, volumeMounts:9 [VolumeMount]@mountPath, workingDir:5
ContainerExtendedResourceRequest
  containerName:1!, requestName:3!, resourceName:2!
ContainerPort
  containerPort:3! int, hostIP:5, hostPort:2 int, name:1, protocol:4
ContainerResizePolicy
  resourceName:1!, restartPolicy:2!
ContainerRestartRule
  action:1, exitCodes:2? ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes
  operator:1, values:2 [int]
ContainerState
  running:2? ContainerStateRunning, terminated:3? ContainerStateTerminated, waiting:1? ContainerStateWaiting
ContainerStateRunning
  startedAt:1 time
ContainerStateTerminated
  containerID:7, exitCode:1! int, finishedAt:6 time, message:4, reason:3, signal:2 int, startedAt:5 time
ContainerStateWaiting
  message:2, reason:1
ContainerStatus
  allocatedResources:10 {quantity}, allocatedResourcesStatus:14 [ResourceStatus]@name, containerID:8, image:6!,
  imageID:7!, lastState:3 ContainerState, name:1!, ready:4! bool, resources:11? ResourceRequirements,
  restartCount:5! int, started:9? bool, state:2 ContainerState, stopSignal:15?, user:13? ContainerUser,
  volumeMounts:12 [VolumeMountStatus]@mountPath
ContainerUser
  linux:1? LinuxContainerUser
EnvFromSource
  configMapRef:2? ConfigMapEnvSource, prefix:1, secretRef:3? SecretEnvSource
EnvVar
  name:1!, value:2, valueFrom:3? EnvVarSource
EnvVarSource
  configMapKeyRef:3? ConfigMapKeySelector, fieldRef:1? ObjectFieldSelector, fileKeyRef:5? FileKeySelector,
  resourceFieldRef:2? ResourceFieldSelector, secretKeyRef:4? SecretKeySelector
EphemeralContainer
  args:1.4 [string], command:1.3 [string], env:1.7 [EnvVar]@name, envFrom:1.19 [EnvFromSource], image:1.2,
  imagePullPolicy:1.14, lifecycle:1.12? Lifecycle, livenessProbe:1.10? Probe, name:1.1!,
  ports:1.6 [ContainerPort]@containerPort, readinessProbe:1.11? Probe, resizePolicy:1.23 [ContainerResizePolicy],
  resources:1.8 ResourceRequirements, restartPolicy:1.24?, restartPolicyRules:1.25 [ContainerRestartRule],
  securityContext:1.15? SecurityContext, startupProbe:1.22? Probe, stdin:1.16 bool, stdinOnce:1.17 bool,
  targetContainerName:2, terminationMessagePath:1.13, terminationMessagePolicy:1.20, tty:1.18 bool,
  volumeDevices:1.21 [VolumeDevice]@devicePath, volumeMounts:1.9 [VolumeMount]@mountPath, workingDir:1.5
ExecAction
  command:1 [string]
FileKeySelector
  key:3!, optional:4? bool, path:2!, volumeName:1!
GRPCAction
  port:1! int, service:2?!
HTTPGetAction
  host:3, httpHeaders:5 [HTTPHeader], path:1, port:2 intOrString, scheme:4
HTTPHeader
  name:1!, value:2!
HostAlias
  hostnames:2 [string], ip:1!
HostIP
  ip:1!
ImageVolumeStatus
  imageRef:1
Lifecycle
  postStart:1? LifecycleHandler, preStop:2? LifecycleHandler, stopSignal:3?
LifecycleHandler
  exec:1? ExecAction, httpGet:2? HTTPGetAction, sleep:4? SleepAction, tcpSocket:3? TCPSocketAction
LinuxContainerUser
  gid:2! long, supplementalGroups:3 [long], uid:1! long
LocalObjectReference
  name:1
NodeAffinity
  preferredDuringSchedulingIgnoredDuringExecution:2 [PreferredSchedulingTerm],
  requiredDuringSchedulingIgnoredDuringExecution:1? NodeSelector
NodeAllocatableResourceClaimStatus
  containers:2 [string], resourceClaimName:1!, resources:3! {quantity}
ObjectFieldSelector
  apiVersion:1, fieldPath:2!
PersistentVolumeClaimTemplate
  metadata:1 ObjectMeta, spec:2 PersistentVolumeClaimSpec
Pod
  metadata:1 ObjectMeta, spec:2 PodSpec, status:3 PodStatus
PodAffinity
  preferredDuringSchedulingIgnoredDuringExecution:2 [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution:1 [PodAffinityTerm]
PodAffinityTerm
  labelSelector:1? LabelSelector, matchLabelKeys:5 [string], mismatchLabelKeys:6 [string],
  namespaceSelector:4? LabelSelector, namespaces:2 [string], topologyKey:3!
PodAntiAffinity
  preferredDuringSchedulingIgnoredDuringExecution:2 [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution:1 [PodAffinityTerm]
PodCondition
  lastProbeTime:3 time, lastTransitionTime:4 time, message:6, observedGeneration:7 long, reason:5, status:2!, type:1!
PodDNSConfig
  nameservers:1 [string], options:3 [PodDNSConfigOption], searches:2 [string]
PodDNSConfigOption
  name:1, value:2?
PodExtendedResourceClaimStatus
  requestMappings:1! [ContainerExtendedResourceRequest], resourceClaimName:2!
PodIP
  ip:1!
PodOS
  name:1!
PodReadinessGate
  conditionType:1!
PodResourceClaim
  name:1!, resourceClaimName:3?, resourceClaimTemplateName:4?
PodResourceClaimStatus
  name:1!, resourceClaimName:2?
PodSchedulingGate
  name:1!
PodSchedulingGroup
  podGroupName:1?
PodSecurityContext
  appArmorProfile:11? AppArmorProfile, fsGroup:5? long, fsGroupChangePolicy:9?, runAsGroup:6? long,
  runAsNonRoot:3? bool, runAsUser:2? long, seLinuxChangePolicy:13?, seLinuxOptions:1? SELinuxOptions,
  seccompProfile:10? SeccompProfile, supplementalGroups:4 [long], supplementalGroupsPolicy:12?, sysctls:7 [Sysctl],
  windowsOptions:8? WindowsSecurityContextOptions
PodSpec
  activeDeadlineSeconds:5? long, affinity:18? Affinity, automountServiceAccountToken:21? bool,
  containers:2! [Container]@name, dnsConfig:26? PodDNSConfig, dnsPolicy:6, enableServiceLinks:30? bool,
  ephemeralContainers:34 [EphemeralContainer]@name, hostAliases:23 [HostAlias]@ip, hostIPC:13 bool,
  hostNetwork:11 bool, hostPID:12 bool, hostUsers:37? bool, hostname:16, hostnameOverride:41?,
  imagePullSecrets:15 [LocalObjectReference]@name, initContainers:20 [Container]@name, nodeName:10,
  nodeSelector:7 {string}, os:36? PodOS, overhead:32 {quantity}, preemptionPolicy:31?, priority:25? int,
  priorityClassName:24, readinessGates:28 [PodReadinessGate], resourceClaims:39 [PodResourceClaim]@name+,
  resources:40? ResourceRequirements, restartPolicy:3, runtimeClassName:29?, schedulerName:19,
  schedulingGates:38 [PodSchedulingGate]@name, schedulingGroup:43? PodSchedulingGroup,
  securityContext:14? PodSecurityContext, serviceAccount:9, serviceAccountName:8, setHostnameAsFQDN:35? bool,
  shareProcessNamespace:27? bool, subdomain:17, terminationGracePeriodSeconds:4? long, tolerations:22 [Toleration],
  topologySpreadConstraints:33 [TopologySpreadConstraint]@topologyKey, volumes:1 [Volume]@name+
PodStatus
  allocatedResources:19 {quantity}, conditions:2 [PodCondition]@type, containerStatuses:8 [ContainerStatus],
  ephemeralContainerStatuses:13 [ContainerStatus], extendedResourceClaimStatus:18? PodExtendedResourceClaimStatus,
  hostIP:5, hostIPs:16 [HostIP]@ip, initContainerStatuses:10 [ContainerStatus], message:3,
  nodeAllocatableResourceClaimStatuses:21 [NodeAllocatableResourceClaimStatus], nominatedNodeName:11,
  observedGeneration:17 long, phase:1, podIP:6, podIPs:12 [PodIP]@ip, qosClass:9, reason:4, resize:14,
  resourceClaimStatuses:15 [PodResourceClaimStatus]@name+, resources:20? ResourceRequirements, startTime:7? time
PodTemplateSpec
  metadata:1 ObjectMeta, spec:2 PodSpec
PreferredSchedulingTerm
  preference:2 NodeSelectorTerm, weight:1! int
Probe
  exec:1.1? ExecAction, failureThreshold:6 int, grpc:1.4? GRPCAction, httpGet:1.2? HTTPGetAction,
  initialDelaySeconds:2 int, periodSeconds:4 int, successThreshold:5 int, tcpSocket:1.3? TCPSocketAction,
  terminationGracePeriodSeconds:7? long, timeoutSeconds:3 int
ResourceClaim
  name:1!, request:2
ResourceFieldSelector
  containerName:1, divisor:3 quantity, resource:2!
ResourceHealth
  health:2, message:6?, resourceID:1!
ResourceRequirements
  claims:3 [ResourceClaim], limits:1 {quantity}, requests:2 {quantity}
ResourceStatus
  name:1!, resources:2 [ResourceHealth]
SELinuxOptions
  level:4, role:2, type:3, user:1
SeccompProfile
  localhostProfile:2?, type:1!
SecretEnvSource
  name:1.1, optional:2? bool
SecretKeySelector
  key:2!, name:1.1, optional:3? bool
SecurityContext
  allowPrivilegeEscalation:7? bool, appArmorProfile:12? AppArmorProfile, capabilities:1? Capabilities,
  privileged:2? bool, procMount:9?, readOnlyRootFilesystem:6? bool, runAsGroup:8? long, runAsNonRoot:5? bool,
  runAsUser:4? long, seLinuxOptions:3? SELinuxOptions, seccompProfile:11? SeccompProfile,
  windowsOptions:10? WindowsSecurityContextOptions
SleepAction
  seconds:1! long
Sysctl
  name:1!, value:2!
TCPSocketAction
  host:2, port:1 intOrString
Toleration
  effect:4, key:1, operator:2, tolerationSeconds:5? long, value:3
TopologySpreadConstraint
  labelSelector:4? LabelSelector, matchLabelKeys:8 [string], maxSkew:1! int, minDomains:5? int, nodeAffinityPolicy:6?,
  nodeTaintsPolicy:7?, topologyKey:2!, whenUnsatisfiable:3!
VolumeDevice
  devicePath:2!, name:1!
VolumeMount
  mountPath:3!, mountPropagation:5?, name:1!, readOnly:2 bool, recursiveReadOnly:7?, subPath:4, subPathExpr:6
VolumeMountStatus
  mountPath:2!, name:1!, readOnly:3 bool, recursiveReadOnly:4?, volumeStatus:5? VolumeStatus
VolumeStatus
  image:1? ImageVolumeStatus
WeightedPodAffinityTerm
  podAffinityTerm:2 PodAffinityTerm, weight:1! int
WindowsSecurityContextOptions
  gmsaCredentialSpec:2?, gmsaCredentialSpecName:1?, hostProcess:4? bool, runAsUserName:3?
`
