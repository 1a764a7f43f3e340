export {
  bound,
  type Change,
  configMap,
  csiDriver,
  csiNode,
  DRIVER,
  lease,
  type Made,
  namespace,
  node,
  pod,
  pv,
  pvc,
  secret,
  serviceAccount,
  storageClass,
  va,
  vac,
} from './builders.ts'
export { type Cluster, type ClusterOptions, resourceOf, startCluster } from './cluster.ts'
export { type Exit, type ProcessOptions, type RunningProcess, startProcess } from './process.ts'
export { ANY, type ExpectedCall, type ExpectedWrite, runScenario, type Scenario, type Step } from './scenario.ts'
