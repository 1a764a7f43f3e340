export { AccessModeError } from './access-mode.ts'
export {
  type DriverCapabilities,
  driverCapabilities,
  getControllerCapabilities,
  getDriverName,
  getNodeCapabilities,
  getPluginCapabilities,
  type PluginCapabilities,
} from './capabilities.ts'
export { type ConnectOptions, connect } from './connect.ts'
export type { Caller, CallOptions, CallReporting, Connection } from './connection.ts'
export { type ControllerClient, controllerClient } from './controller-client.ts'
export {
  createDriver,
  type Driver,
  type DriverEvent,
  type DriverOptions,
  guardedDriver,
  LOST_CONNECTION_EXITING,
} from './driver.ts'
export { classify, type Verdict } from './errors/classify.ts'
export { ConnectError } from './errors/connect-error.ts'
export { CODES, type CodeName, RpcError } from './errors/rpc-error.ts'
export type { Decisive, DriverIdentity } from './identity.ts'
export { connectMigrated, type MigratedOptions } from './migrated.ts'
export { OperationMetrics } from './operation-metrics.ts'
export { type ProbeOptions, probe } from './probe.ts'
export { type ProbeOnceOptions, probeOnce } from './probe-once.ts'
export { secretsFrom } from './secrets.ts'
export { type VolumeUse, volumeCapabilityOf } from './volume-capability.ts'
