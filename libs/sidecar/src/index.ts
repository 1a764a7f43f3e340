export type { App, AppControllers, AppFlags, AppParts, Host, LeaseNames, StartTable } from './app.ts'
export { type Cache, type CacheRegistry, cacheOf } from './caches.ts'
export type { Question, StepFailure } from './capability-questions.ts'
export type { ChartKey } from './chart-key.ts'
export { type CombinedApp, combinable, combine } from './combine.ts'
export { flagsForOne, processFlags } from './combined-flags.ts'
export {
  type FeatureGates,
  type GateNotice,
  type ResolvedGates,
  resolveGates,
} from './feature-gates.ts'
export { FLAG_TYPES, type FlagType, type FlagTypeName, type FlagValues } from './flag-types.ts'
export {
  type Gate,
  type GateStage,
  type GateTable,
  GENERIC_GATES,
  RELEASE_ON_EXIT,
} from './gate-tables.ts'
export { type Flag, type Flags, type FlagTable, type ParsedFlags, parseFlags } from './go-flags.ts'
export { goDuration } from './go-values.ts'
export type {
  ConnectionFailures,
  HandshakeTable,
} from './handshake.ts'
export type { HttpServer } from './http-listener.ts'
export type { Check, HealthChecks, HttpServerOptions } from './http-server.ts'
export { type NamespaceSources, sanitizeName } from './lease-name.ts'
export type { ListenAddress } from './listen-address.ts'
export { main } from './main.ts'
export { type Program, programOf } from './run-app.ts'
export type { Ending, ServeOptions, ServeSettings, StopSignal } from './serve.ts'
export { STANDARD_FLAGS } from './standard-flags.ts'
export {
  leaseTimingError,
  loggingError,
  type StandardFlags,
  type StandardValues,
} from './start-checks.ts'
export { StartError } from './start-error.ts'
