/** The stage of a gate. It decides which of AllAlpha and AllBeta sets the gate, and which warning its use gives. */
export type GateStage = 'alpha' | 'beta' | 'ga' | 'deprecated'

export interface FeatureGate {
  readonly stage: GateStage
  readonly default: boolean
  /** True: the gate may be set to its default only. */
  readonly locked?: boolean
}

/** The gates of one binary. */
export interface GateTable<N extends string = string> {
  readonly own: Readonly<Record<N, FeatureGate>>
  /** Gates that upstream made permanent and then removed, with their fixed value. Either value is accepted. */
  readonly permanent: Readonly<Record<string, true>>
}

/**
 * The gate of every sidecar. It is beta and on, because a lease is worth handing over. In the Go originals it is alpha
 * and off.
 */
export const RELEASE_ON_EXIT: FeatureGate = { stage: 'beta', default: true }

const ALPHA: FeatureGate = { stage: 'alpha', default: false }
const BETA: FeatureGate = { stage: 'beta', default: true }

/**
 * The gates of the API server library in Kubernetes 1.37. They have no effect, but the Go originals accept them, and
 * command lines in the field name some of them.
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
