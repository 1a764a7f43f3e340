export { anyObject } from './any-object.ts'
export { type Issued, makeAuthority } from './authority.ts'
export {
  boundPair as bound,
  configMap,
  csiNode,
  DRIVER,
  pod,
  pv,
  pvc,
  secret,
  storageClass,
  va,
  vac,
} from './builders.ts'
export { type ClusterOptions, type EmulatedCluster as Cluster, startCluster } from './cluster.ts'
export { explore, type Model, type ModelMove as Move } from './explore.ts'
export { applyPatch, InProcessClient } from './in-process/client.ts'
export { FakeApi, HANG } from './in-process/fake-api.ts'
export { type InFlight, StepGate } from './in-process/gate.ts'
export { recordingEvent, recordingReads } from './reads.ts'
export { ANY, runScenario, type ScenarioScript as Scenario, type ScenarioStep as Step } from './scenario.ts'
