export { anyObject } from './any-object.ts'
export { COUNT, NUMBER, readArguments } from './arguments.ts'
export { type Issued, makeAuthority } from './authority.ts'
export {
  bound,
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
export { type Cluster, type ClusterOptions, startCluster } from './cluster.ts'
export { explore, type Model, type Move } from './explore.ts'
export { applyPatch } from './in-process/apply-patch.ts'
export { InProcessClient } from './in-process/client.ts'
export { FakeApi, HANG } from './in-process/fake-api.ts'
export { type InFlight, StepGate } from './in-process/gate.ts'
export { type ProcessOptions, type RunningProcess, startProcess } from './process.ts'
export { Progress } from './progress.ts'
export { recordingEvent, recordingReads } from './reads.ts'
export { ANY, runScenario, type Scenario, type Step } from './scenario.ts'
