export type { App, AppControllers, AppParts, DriverApp, DriverAppParts } from './app.ts'
export type { CapabilityQuestion } from './driver/capability-questions.ts'
export type { ConnectionFailures, HandshakeTable } from './driver/handshake-table.ts'
export { flagsOfProcess, prefixableFlags } from './flags/combined-flags.ts'
export {
  type FeatureGate,
  type GateTable,
  GENERIC_GATES,
  RELEASE_ON_EXIT,
  resolveGates,
} from './flags/feature-gates.ts'
export { leaseTimingError, loggingError, type StandardFlags, setsBothAddresses } from './flags/flag-checks.ts'
export { FLAG_TYPES, type FlagType } from './flags/flag-types.ts'
export { type ChartKey, type Flag, type FlagTable, parseFlags } from './flags/go-flags.ts'
export { goDuration } from './flags/go-values.ts'
export { LOGGING_FLAGS, STANDARD_FLAGS } from './flags/standard-flags.ts'
export { type EndpointReply, type HttpServer, listenHttp, type Routes } from './http/listener.ts'
export { metricsReply } from './http/server.ts'
export { sanitizeName } from './lease/lease-name.ts'
export { readSecret, SecretError, type SecretRef } from './secrets.ts'
export { type Cache, type CacheRegistry, cacheOf } from './serve/caches.ts'
export { attributesClassGate, ServedKinds } from './serve/served-kinds.ts'
export { main } from './start/main.ts'
export { combine, type Program, programOf } from './start/program.ts'
export { ENDPOINT_FAILED, FATAL, failing, StartError, sentence } from './start-error.ts'
export {
  type UnreferencedFindings,
  type UnreferencedItem,
  UnreferencedReport,
} from './unreferenced/report.ts'
export { searchRegularly } from './unreferenced/search.ts'
export { type SightedThing, Sightings } from './unreferenced/sightings.ts'
