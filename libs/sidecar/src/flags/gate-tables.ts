/** How far a gate has come; decides what AllAlpha and AllBeta touch and which warning its use gives. */
export type GateStage = 'alpha' | 'beta' | 'ga' | 'deprecated'

export interface FeatureGate {
  readonly stage: GateStage
  readonly default: boolean
  /** May be set to its default only. */
  readonly locked?: boolean
}

/** The gates of one binary. */
export interface GateTable<N extends string = string> {
  readonly own: Readonly<Record<N, FeatureGate>>
  /** Gates that upstream made permanent and then removed, with the value that they have for ever. Taken with either. */
  readonly permanent: Readonly<Record<string, true>>
}

/** Of every sidecar. Beta and on, other than in the Go originals, where it is alpha and off: a lease is worth handing over. */
export const RELEASE_ON_EXIT: FeatureGate = { stage: 'beta', default: true }

const ALPHA: FeatureGate = { stage: 'alpha', default: false }
const BETA: FeatureGate = { stage: 'beta', default: true }

/**
 * Gates of the API server library in Kubernetes 1.37. They do nothing in a sidecar, but the Go originals link that
 * library and so take them, and command lines in the field name some.
 */
export const GENERIC_GATES: Readonly<Record<string, FeatureGate>> = {
  AllAlpha: ALPHA,
  AllBeta: { stage: 'beta', default: false },
  APIResponseCompression: BETA,
  APIServerIdentity: BETA,
  APIServerWebhookAuthenticationToken: ALPHA,
  APIServingWithRoutine: ALPHA,
  AggregatedDiscoveryRemoveBetaType: { stage: 'deprecated', default: true, locked: true },
  AllowParsingUserUIDFromCertAuth: BETA,
  AllowUnsafeMalformedObjectDeletion: BETA,
  CBORServingAndStorage: ALPHA,
  ComponentFlagz: BETA,
  ComponentStatusz: BETA,
  ConcurrentWatchObjectDecode: BETA,
  ConsistentListFromCacheSkipTimeoutFallback: ALPHA,
  ConstrainedImpersonation: BETA,
  CoordinatedLeaderElection: { stage: 'beta', default: false },
  DeclarativeValidation: { stage: 'ga', default: true, locked: true },
  DeclarativeValidationBeta: BETA,
  DeclarativeValidationTakeover: { stage: 'deprecated', default: false, locked: true },
  DetectCacheInconsistency: BETA,
  EtcdRangeStream: BETA,
  ExcludeAdmissionWebhookVirtualResources: BETA,
  KMSv1: { stage: 'deprecated', default: false },
  ListFromCacheSnapshot: BETA,
  ManifestBasedAdmissionControlConfig: BETA,
  MutatingAdmissionPolicy: { stage: 'ga', default: true },
  NativeHistograms: BETA,
  OpenAPIEnums: BETA,
  RemoteRequestHeaderUID: BETA,
  SeparateCacheWatchRPC: { stage: 'deprecated', default: false, locked: true },
  ShardedListAndWatch: ALPHA,
  SizeBasedListCostEstimate: BETA,
  StorageVersionAPI: ALPHA,
  StorageVersionHash: BETA,
  StructuredAuthenticationConfigurationEgressSelector: BETA,
  StructuredAuthenticationConfigurationJWKSMetrics: BETA,
  TokenRequestServiceAccountUIDValidation: BETA,
  UnauthenticatedHTTP2DOSMitigation: BETA,
  UnknownVersionInteroperabilityProxy: BETA,
  WatchCacheInitializationPostStartHook: { stage: 'ga', default: true, locked: true },
  WatchList: BETA,
  WatchListCompression: BETA,
  WebhookRoundTripLoadBalancing: BETA,
}
