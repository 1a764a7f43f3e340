export type { App, AppFlags, Boot, Host, Started } from './app.ts'
export {
  type FeatureGates,
  type GateNotice,
  knownGatesText,
  type ResolvedGates,
  resolveGates,
} from './feature-gates.ts'
export { FLAG_TYPES, type FlagType, type FlagTypeName, type FlagValues } from './flag-types.ts'
export {
  ATTACHER_GATES,
  type Gate,
  type GateStage,
  type GateTable,
  GENERIC_GATES,
  RESIZER_GATES,
} from './gate-tables.ts'
export { type Flag, type Flags, type FlagTable, type ParsedFlags, parseFlags } from './go-flags.ts'
export { goDuration } from './go-values.ts'
export { Health } from './health.ts'
export { processHost } from './host.ts'
export {
  type Check,
  type HealthChecks,
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from './http-server.ts'
export { leaseIdentity, leaseName, leaseNamespace, type NamespaceSources, sanitizeName } from './lease-name.ts'
export { type ListenAddress, ListenError, parseListenAddress } from './listen-address.ts'
export { runApp } from './run-app.ts'
export { type Ending, type ServeOptions, type ServeSettings, type StopSignal, serve } from './serve.ts'
export { type Cache, cacheOf, caughtUp, type Lead, type Service } from './service.ts'
export { STANDARD_FLAGS, WORKER_THREADS_FLAG, WORKERS_FLAG } from './standard-flags.ts'
export {
  aggregate,
  automaxprocsNotice,
  bothAddresses,
  burstError,
  leaseTimingError,
  loggingError,
  type StandardFlags,
  type StandardValues,
} from './start-checks.ts'
export { Answered, failing, StartError } from './start-error.ts'
export { type ElectionNames, type Endpoint, electorOf, featureGates, kubeClient, openEndpoint } from './steps.ts'
export { type Ended, runInProcess } from './testing/run-in-process.ts'
export { usageText } from './usage.ts'
export { VERSION } from './version.ts'
