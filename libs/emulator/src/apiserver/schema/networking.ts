/** Services, and the groups networking.k8s.io and scheduling.k8s.io. The notation is that of schema.ts. */
export const SERVICES = `
ClientIPConfig
  timeoutSeconds:1? int
LoadBalancerIngress
  hostname:2, ip:1, ipMode:3?, ports:4 [PortStatus]
LoadBalancerStatus
  ingress:1 [LoadBalancerIngress]
PortStatus
  error:3?, port:1! int, protocol:2!
Service
  metadata:1 ObjectMeta, spec:2 ServiceSpec, status:3 ServiceStatus
ServicePort
  appProtocol:6?, name:1, nodePort:5 int, port:3! int, protocol:2, targetPort:4 intOrString
ServiceSpec
  allocateLoadBalancerNodePorts:20? bool, clusterIP:3, clusterIPs:18 [string], externalIPs:5 [string], externalName:10,
  externalTrafficPolicy:11, healthCheckNodePort:12 int, internalTrafficPolicy:22?, ipFamilies:19 [string],
  ipFamilyPolicy:17?, loadBalancerClass:21?, loadBalancerIP:8, loadBalancerSourceRanges:9 [string],
  ports:1 [ServicePort]@port, publishNotReadyAddresses:13 bool, selector:2 {string}, sessionAffinity:7,
  sessionAffinityConfig:14? SessionAffinityConfig, trafficDistribution:23?, type:4
ServiceStatus
  conditions:2 [Condition]@type, loadBalancer:1 LoadBalancerStatus
SessionAffinityConfig
  clientIP:1? ClientIPConfig
`

export const NETWORKING = `
IPBlock
  cidr:1!, except:2 [string]
NetworkPolicy
  metadata:1 ObjectMeta, spec:2 NetworkPolicySpec
NetworkPolicyEgressRule
  ports:1 [NetworkPolicyPort], to:2 [NetworkPolicyPeer]
NetworkPolicyIngressRule
  from:2 [NetworkPolicyPeer], ports:1 [NetworkPolicyPort]
NetworkPolicyPeer
  ipBlock:3? IPBlock, namespaceSelector:2? LabelSelector, podSelector:1? LabelSelector
NetworkPolicyPort
  endPort:3? int, port:2? intOrString, protocol:1?
NetworkPolicySpec
  egress:3 [NetworkPolicyEgressRule], ingress:2 [NetworkPolicyIngressRule], podSelector:1! LabelSelector,
  policyTypes:4 [string]
`

export const SCHEDULING = `
PriorityClass
  description:4, globalDefault:3 bool, metadata:1 ObjectMeta, preemptionPolicy:5?, value:2! int
`
