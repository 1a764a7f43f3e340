export type { TokenGrant, User } from './apiserver/authentication.ts'
export type {
  FaultAction,
  FaultMatch,
  FaultRule,
  Faults,
  WatchEnd,
} from './apiserver/faults.ts'
export type { LoggedRequest, RequestLog, RequestMatch } from './apiserver/request-log.ts'
export { type ApiServer, type ApiServerOptions, startApiServer } from './apiserver/server.ts'
export {
  type Answer,
  compare,
  DIFFERENCES,
  type Difference,
  readRecorded,
  runConformance,
  type Server as ConformanceServer,
  STORIES as CONFORMANCE_STORIES,
  type Step as ConformanceStep,
  type Story as ConformanceStory,
  type Told,
  writeRecorded,
} from './conformance/index.ts'
export type { CallLog, CallMatch, DriverCall } from './csi-driver/call-log.ts'
export { type CodeName, DriverFailure } from './csi-driver/driver-failure.ts'
export type { DriverAction, DriverFaults, DriverMatch, DriverRule } from './csi-driver/driver-faults.ts'
export { type CsiDriver, type CsiDriverOptions, startCsiDriver } from './csi-driver/server.ts'
export type {
  ControllerCapability,
  DriverSettings,
  NodeCapability,
  PluginService,
  VolumeExpansion,
} from './csi-driver/settings.ts'
export type { Attachment, StoredVolume, Volumes } from './csi-driver/volumes.ts'
export type { ActiveRule, Hold } from './fault-book.ts'
export { FaultFileError, parseFaults, readFaultFile } from './fault-file.ts'
export { freePort } from './free-port.ts'
