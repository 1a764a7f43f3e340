export { AccessModeError } from './access-mode.ts'
export {
  type DriverCapabilities,
  driverCapabilities,
  getControllerCapabilities,
  getDriverName,
  getGroupControllerCapabilities,
  getNodeCapabilities,
  getPluginCapabilities,
  type PluginCapabilities,
} from './capabilities.ts'
export { type ConnectOptions, connect } from './connect.ts'
export type { Caller, CallOptions, Connection } from './connection.ts'
export { controllerClient } from './controller-client.ts'
export { createDriver, type Driver, type DriverEvent, guardedDriver, LOST_CONNECTION_EXITING } from './driver.ts'
export { classify } from './errors/classify.ts'
export { ConnectError } from './errors/connect-error.ts'
export { CODES, type CodeName, RpcError } from './errors/rpc-error.ts'
export type { Decisive, DriverIdentity } from './identity.ts'
export { connectMigrated } from './migrated.ts'
export { OperationMetrics } from './operation-metrics.ts'
export { probe } from './probe.ts'
export { probeOnce } from './probe-once.ts'
export { resolveTemplate } from './secret-template.ts'
export { secretsFrom } from './secrets.ts'
export { volumeCapabilityOf } from './volume-capability.ts'
