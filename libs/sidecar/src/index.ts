export type { Question, StepFailure } from './driver/capability-questions.ts'
export type {
  ConnectionFailures,
  HandshakeTable,
} from './driver/handshake-table.ts'
export type { ChartKey } from './flags/chart-key.ts'
export { flagsForOne, processFlags } from './flags/combined-flags.ts'
export {
  type FeatureGates,
  type GateNotice,
  type ResolvedGates,
  resolveGates,
} from './flags/feature-gates.ts'
export { FLAG_TYPES, type FlagType, type FlagTypeName, type FlagValues } from './flags/flag-types.ts'
export {
  type Gate,
  type GateStage,
  type GateTable,
  GENERIC_GATES,
  RELEASE_ON_EXIT,
} from './flags/gate-tables.ts'
export { type Flag, type Flags, type FlagTable, type ParsedFlags, parseFlags } from './flags/go-flags.ts'
export { goDuration } from './flags/go-values.ts'
export { LOGGING_FLAGS, STANDARD_FLAGS } from './flags/standard-flags.ts'
export type { ListenAddress } from './http/listen-address.ts'
export { type HttpServer, listenHttp, type Reply, type Routes } from './http/listener.ts'
export { type Check, type HealthChecks, type HttpServerOptions, metricsReply } from './http/server.ts'
export { type NamespaceSources, sanitizeName } from './lease/lease-name.ts'
export { type Cache, type CacheRegistry, cacheOf } from './serve/caches.ts'
export type { Ending, ServeOptions, ServeSettings, StopSignal } from './serve/serve.ts'
export type { App, AppControllers, AppFlags, AppParts, Host, LeaseNames, StartTable } from './start/app.ts'
export { type CombinedApp, combinable, combinableDriverApp, combine } from './start/combine.ts'
export type { DriverApp, DriverAppParts } from './start/driver-app.ts'
export { main } from './start/main.ts'
export { type Program, programOf } from './start/program.ts'
export {
  leaseTimingError,
  loggingError,
  type StandardFlags,
  type StandardValues,
} from './start/start-checks.ts'
export { failing, StartError } from './start/start-error.ts'
