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
export { type ConnectOptions, connect, connectMigrated } from './connect.ts'
export type { Caller, CallOptions, Connection } from './connection.ts'
export { controllerClient, type SnapshotClient, snapshotClient, volumeClient } from './controller-client.ts'
export { createDriver, type Driver, type DriverEvent, driverWhileLeading, LOST_CONNECTION_EXITING } from './driver.ts'
export { type CallVerdict, classify } from './errors/classify.ts'
export { CODES, type CodeName, ConnectError, RpcError } from './errors/rpc-error.ts'
export { listPages } from './list-pages.ts'
export { objectVariable } from './object-variable.ts'
export { OperationMetrics } from './operation-metrics.ts'
export { PARAMETER_VALUES, parameterRecord, recordedValues } from './parameter-record.ts'
export { expandParameters, isTemplate, labelAndAnnotationVariables } from './parameter-template.ts'
export { type DecisiveCapabilities, type DriverIdentity, probe, probeOnce } from './probe.ts'
export { resolveTemplate, secretsFrom } from './secrets.ts'
export { AccessModeError, volumeCapabilityOf } from './volume-capability.ts'
