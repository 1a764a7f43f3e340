import type { Backlog } from '@csi-sidecars/controller'
import { createRecorder } from '@csi-sidecars/events'
import {
  type ClusterConfig,
  createKubeClient,
  flowOptions,
  type KubeClient,
  loadClusterConfig,
  type OwnedKubeClient,
  type ServerLimits,
} from '@csi-sidecars/kube-client'
import { Elector } from '@csi-sidecars/leader-election'
import { goQuote, type Logger, type Pairs, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Tracing } from '@csi-sidecars/telemetry/tracing'
import { throwErrorBefore } from '../app.ts'
import type { DriverAnswers } from '../driver/answers.ts'
import { leaseTimingError, type StandardFlags, type StandardValues } from '../flags/flag-checks.ts'
import { debugStuck } from '../http/debug-stuck.ts'
import { debugUnreferenced } from '../http/debug-unreferenced.ts'
import { Health } from '../http/health.ts'
import type { Security } from '../http/secure/open.ts'
import { startHttpServer } from '../http/server.ts'
import { leaseIdentity, leaseNamespace } from '../lease/lease-name.ts'
import type { StartContext } from '../process.ts'
import type { StartedService } from '../serve/serve.ts'
import { failing, StartError } from '../start-error.ts'
import type { UnreferencedReport } from '../unreferenced/report.ts'
import type { StartPlan } from './program.ts'

/** The HTTP endpoint for scrapers and probes. */
export interface HttpEndpoint {
  /** Gives the endpoint the started service, on which it reports from then on. */
  setService(started: {
    readonly service: StartedService
    readonly backlog: Backlog
    readonly unreferenced: UnreferencedReport
    readonly answers: DriverAnswers
  }): void
  close(): Promise<void>
}

/** Everything that the election of one leader needs. */
export interface ElectionOptions {
  /** Returns the client for the Lease. The first call creates it. */
  readonly client: () => KubeClient
  readonly standard: StandardFlags
  readonly name: string
  /** The source of events about the Lease. The host name is appended. */
  readonly component: string
  /** True if metrics are labelled with the name of the Lease. Default: false. */
  readonly namesLeaseInMetrics?: boolean
  readonly log: Logger
}

/** Reads the configuration of the API client. Throws an app's error that must end the start before this step. */
export async function loadConfig(
  { host, standard, clock, log }: StartContext,
  { sidecars, table }: StartPlan,
): Promise<ClusterConfig> {
  throwErrorBefore('apiConfig', sidecars)
  const settingOf = (name: 'master' | 'kubeconfig'): string | undefined =>
    sidecars.map(({ settings }) => settings[name] ?? '').find((value) => value !== '')
  const kubeconfig = settingOf('kubeconfig') ?? standard.values.kubeconfig
  const master = settingOf('master') ?? ''
  const config = await loadClusterConfig({ kubeconfig, master, env: host.env, clock, log }).catch(
    failing(table.configFailed),
  )
  throwErrorBefore('apiClient', sidecars)
  return config
}

/**
 * Creates a client with the rate limits of the flags. Each client has separate limits, but all have the same user
 * agent.
 */
export function kubeClient(context: StartContext, config: ClusterConfig): OwnedKubeClient {
  const { values, explicitFlags } = context.standard
  const { clock, log, metrics, missing, tracer } = context
  const flow = flowOptions({
    qps: explicitFlags.has('kube-api-qps') ? values['kube-api-qps'] : undefined,
    burst: explicitFlags.has('kube-api-burst') ? values['kube-api-burst'] : undefined,
  })
  const client = createKubeClient({
    config,
    flow,
    clock,
    log,
    metrics,
    missing,
    tracer,
    userAgent: userAgentOf(context),
  })
  context.atEnd(() => client.close())
  return client
}

/** The rate limit of reviews, so that clients that guess tokens do not delay the work. */
const REVIEW_FLOW = { kind: 'bucket', qps: 10, burst: 20, perGroup: false } as const

/** Returns a function that creates the client for reviews at its first call, and then returns the same client. */
export function reviewClient(context: StartContext, config: ClusterConfig): () => KubeClient {
  const { clock, log, metrics, missing } = context
  const common = { config, flow: REVIEW_FLOW, clock, log, metrics, missing, userAgent: userAgentOf(context) }
  let client: OwnedKubeClient | undefined
  context.atEnd(() => client?.close())
  return () => {
    client ??= createKubeClient(common)
    return client
  }
}

function userAgentOf({ name, version }: StartContext): string {
  return `${name}/${version}`
}

/**
 * Starts the HTTP server if the flags request it. `client` returns the client for reviews, and `limits` returns the
 * limits that the API server sets for the client of the controllers.
 */
export async function openEndpoint(
  context: StartContext,
  { sidecars, table }: StartPlan,
  options: {
    readonly security: Security | undefined
    readonly client: () => KubeClient
    readonly limits: () => ServerLimits
    /** The key-value pairs of the log line about a server that cannot be opened. */
    readonly pairs: Pairs
  },
): Promise<HttpEndpoint> {
  const { clock, metrics, standard, log } = context
  const { values } = standard
  const health = new Health(clock, metrics)
  const address = values['http-endpoint'] || values['metrics-address']
  let backlog: Backlog | undefined
  let unreferenced: UnreferencedReport | undefined
  const setService: HttpEndpoint['setService'] = (service) => {
    health.setService(service)
    backlog = service.backlog
    unreferenced = service.unreferenced
  }
  if (address === '') return { setService, close: async () => health.stop() }
  const { security, client, limits, pairs } = options
  const elects = sidecars.some(({ flags }) => flags.values['leader-election'])
  const metricsPath = values['metrics-path']
  const more =
    values['http-endpoint'] === ''
      ? {}
      : {
          health: health.checks(elects),
          debugStuck: (query: URLSearchParams) =>
            debugStuck({ backlog, limits: limits(), missingPermissions: context.missing?.rules ?? [] }, query),
          debugUnreferenced: () => debugUnreferenced(unreferenced),
        }
  const profilesPage = sidecars.some(({ settings }) => settings.profilesPage === true)
  const protection = { secure: security?.secure, guard: security?.guard(client) }
  const server = await startHttpServer({
    address,
    metricsPath,
    metrics,
    log,
    profilesPage,
    ...protection,
    ...more,
  }).catch(failing(table.endpointFailed, { ...pairs, address, metricsPath }))
  if (typeof table.endpointFailed === 'string') log.info('ServeMux listening', { address, metricsPath })
  else log.info(`ServeMux listening at ${goQuote(address)}`, UNQUOTED)
  const close = async (): Promise<void> => {
    health.stop()
    await server.close()
  }
  return { setService, close }
}

/** Opens tracing if a flag asks for it and the environment is valid. Its code is loaded only then. */
export async function tracingOf({ standard, runs, host, ...context }: StartContext): Promise<Tracing | undefined> {
  if (!standard.values['enable-otel-tracing'] || runs === undefined) return undefined
  const { openTracing } = await import('@csi-sidecars/telemetry/tracing')
  const program = { name: context.name, version: context.version, hostName: host.hostName }
  return openTracing({ ...context, runs, env: host.env, program })
}

/** Returns the elector for one Lease, if flags ask for leader election. */
export async function electorOf(context: StartContext, options: ElectionOptions): Promise<Elector | undefined> {
  const { name, log } = options
  const { values } = options.standard
  if (!values['leader-election']) return undefined
  const timing = leaseTimingError(values)
  if (timing !== undefined) {
    throw new StartError('Leader election timings are impossible', { cause: new Error(timing), exitCode: 2 })
  }
  const { clock, metrics, host } = context
  const client = options.client()
  const namespace = await leaseNamespace({ flag: values['leader-election-namespace'], env: host.env })
  const component = `${options.component}/${host.hostName}`
  const recorder = createRecorder({ client, component, clock, log })
  const target = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name, namespace }
  return new Elector({
    client,
    lease: { namespace, name, labels: Object.fromEntries(values['leader-election-labels']) },
    identity: leaseIdentity(host.hostName),
    timings: {
      leaseDurationMs: values['leader-election-lease-duration'],
      renewDeadlineMs: values['leader-election-renew-deadline'],
      retryPeriodMs: values['leader-election-retry-period'],
    },
    clock,
    log,
    metrics,
    ...(options.namesLeaseInMetrics === true && { metricName: name }),
    announce: (message, lease) => {
      const { uid, resourceVersion } = lease?.metadata ?? {}
      recorder.event({ ...target, uid, resourceVersion }, { type: 'Normal', reason: 'LeaderElection', message })
    },
  })
}

/** Loads the code of secure serving. Returns undefined if no flag requests it. Throws StartError. */
export async function loadSecurity(context: StartContext): Promise<Security | undefined> {
  if (!asksForSecurity(context.standard.values)) return undefined
  const { openSecurity } = await import('../http/secure/open.ts')
  return await openSecurity(context).catch(failing('Secure serving configuration is invalid'))
}

function asksForSecurity(values: StandardValues): boolean {
  const texts = [
    'client-ca-file',
    'tls-cert-file',
    'tls-cipher-suites',
    'tls-min-version',
    'tls-private-key-file',
  ] as const
  return values['authorize-metrics'] || values['tls-self-signed'] || texts.some((flag) => values[flag] !== '')
}
