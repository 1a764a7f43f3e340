import { aggregate } from './flag-checks.ts'

/** The feature gates of one app, with their effective values. */
export interface FeatureGates<N extends string = string> {
  isEnabled(name: N): boolean
  /** Reports whether the command line names the gate. AllAlpha and AllBeta do not count. */
  isExplicit(name: N): boolean
  /** Returns a copy in which the gate has this default. A gate that the command line sets keeps its value. */
  withDefault(name: N, value: boolean): FeatureGates<N>
}

/** A log line about a gate on the command line. */
export interface GateNotice {
  readonly message: string
  readonly pairs: { readonly featureGate: string; readonly value: boolean }
}

export type ResolvedGates<N extends string> =
  | { readonly kind: 'gates'; readonly gates: FeatureGates<N>; readonly notices: readonly GateNotice[] }
  | { readonly kind: 'refused'; readonly error: string }

/** The stage of a gate. It decides whether AllAlpha or AllBeta sets the gate, and how its use is logged. */
export type GateStage = 'alpha' | 'beta' | 'ga' | 'deprecated'

/** A gate that --feature-gates accepts. */
export interface FeatureGate {
  readonly stage: GateStage
  readonly default: boolean
  /** True: the gate may be set to its default only. */
  readonly locked?: boolean
}

/** The feature gates that an app defines. */
export interface GateTable<N extends string = string> {
  readonly sidecarGates: Readonly<Record<N, FeatureGate>>
  /** Gates that upstream locked to true and later removed. The command line may still set them to true or false. */
  readonly permanent: Readonly<Record<string, true>>
}

/** Applies the gates of a command line. One error lists every wrong name or value. */
export function resolveGates<N extends string>(
  table: GateTable<N>,
  requested: ReadonlyMap<string, boolean>,
): ResolvedGates<N> {
  const errors: string[] = []
  const notices: GateNotice[] = []
  for (const [featureGate, value] of requested) {
    const verdict = validateGate(table, featureGate, value)
    if (verdict.kind === 'refused') errors.push(verdict.error)
    else if (verdict.notice !== undefined) notices.push({ message: verdict.notice, pairs: { featureGate, value } })
  }
  const error = aggregate(errors)
  if (error !== undefined) return { kind: 'refused', error }
  return { kind: 'gates', gates: gatesOf(table.sidecarGates, requested), notices }
}

type Verdict =
  | { readonly kind: 'accepted'; readonly notice?: string }
  | { readonly kind: 'refused'; readonly error: string }

function validateGate(table: GateTable, name: string, value: boolean): Verdict {
  const permanent = ownValue(table.permanent, name)
  if (permanent !== undefined) return { kind: 'accepted', notice: permanent === value ? IGNORED : OVERRULED }
  const gate = ownValue(table.sidecarGates, name) ?? ownValue(GENERIC_GATES, name)
  if (gate?.locked === true && gate.default !== value) {
    const error = `cannot set feature gate ${name} to ${value}, feature is locked to ${gate.default}`
    return { kind: 'refused', error }
  }
  if (gate === undefined) return { kind: 'refused', error: `unrecognized feature gate: ${name}` }
  const notice = NOTICES[gate.stage]
  return notice === undefined ? { kind: 'accepted' } : { kind: 'accepted', notice }
}

const IGNORED = 'Ignoring feature gate that is always on'
/** Existing manifests still turn permanent gates off, and the Go sidecars accept this. */
const OVERRULED = 'Warning: turning off this feature gate has no effect, it is always on'

const NOTICES: Readonly<Partial<Record<GateStage, string>>> = {
  ga: 'Warning: setting GA feature gate. It will be removed in a future release.',
  deprecated: 'Warning: setting deprecated feature gate. It will be removed in a future release.',
}

function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function gatesOf<N extends string>(
  gates: Readonly<Record<N, FeatureGate>>,
  requested: ReadonlyMap<string, boolean>,
): FeatureGates<N> {
  const all = { alpha: requested.get('AllAlpha'), beta: requested.get('AllBeta'), ga: undefined, deprecated: undefined }
  return {
    isEnabled: (name) => requested.get(name) ?? all[gates[name].stage] ?? gates[name].default,
    isExplicit: (name) => requested.has(name),
    withDefault: (name, value) => gatesOf({ ...gates, [name]: { ...gates[name], default: value } }, requested),
  }
}

/** Returns the gates that have an effect, each on a line, for the usage. Other accepted gates are omitted. */
export function knownGatesText(table: GateTable): string {
  const lines = Object.entries<FeatureGate>(table.sidecarGates).map(
    ([name, gate]) => `${name}=true|false (${gate.stage.toUpperCase()} - default=${gate.default})`,
  )
  return lines.sort().join('\n')
}

/**
 * The gate ReleaseLeaderElectionOnExit of every sidecar. It is beta and on, so that another replica can take over at
 * once. In the Go sidecars it is alpha and off.
 */
export const RELEASE_ON_EXIT: FeatureGate = { stage: 'beta', default: true }

const ALPHA: FeatureGate = { stage: 'alpha', default: false }
const BETA: FeatureGate = { stage: 'beta', default: true }

/**
 * The gates of the API server library in Kubernetes 1.37. They have no effect, but the Go sidecars accept them, and
 * existing command lines contain some of them.
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
