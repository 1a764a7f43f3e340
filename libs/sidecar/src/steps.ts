import type { Backlog } from '@csi-sidecars/controller'
import { createRecorder } from '@csi-sidecars/events'
import {
  type ClusterConfig,
  createKubeClient,
  flowOptions,
  type KubeClient,
  type OwnedKubeClient,
} from '@csi-sidecars/kube-client'
import { Elector } from '@csi-sidecars/leader-election'
import type { Logger, Pairs } from '@csi-sidecars/telemetry'
import type { Tracing } from '@csi-sidecars/telemetry/tracing'
import type { Boot } from './boot.ts'
import { debugStuck } from './debug-stuck.ts'
import { Health } from './health.ts'
import type { HttpServer } from './http-listener.ts'
import { startHttpServer } from './http-server.ts'
import { leaseIdentity, leaseNamespace } from './lease-name.ts'
import type { Security } from './secure/security.ts'
import type { Service } from './service.ts'
import { leaseTimingError, type StandardFlags } from './start-checks.ts'
import { failing, StartError } from './start-error.ts'

/** A client whose requests are limited as the flags say. Each one made has limits of its own; all call themselves the same. */
export function kubeClient(boot: Boot, config: ClusterConfig): KubeClient {
  const { values, given } = boot.standard
  const { clock, log, metrics, tracer } = boot
  const flow = flowOptions({
    qps: given.has('kube-api-qps') ? values['kube-api-qps'] : undefined,
    burst: given.has('kube-api-burst') ? values['kube-api-burst'] : undefined,
  })
  const client = createKubeClient({ config, flow, clock, log, metrics, tracer, userAgent: userAgentOf(boot) })
  boot.atEnd(() => client.close())
  return client
}

/** Reviews are few, and their rate is theirs alone: whoever tries tokens must not keep the work waiting. */
const REVIEW_FLOW = { kind: 'bucket', qps: 10, burst: 20, perGroup: false } as const

/** A client for reviews, made when the first is asked for. */
export function reviewClient(boot: Boot, config: ClusterConfig): () => KubeClient {
  const { clock, log, metrics } = boot
  let client: OwnedKubeClient | undefined
  boot.atEnd(() => client?.close())
  return () => {
    client ??= createKubeClient({ config, flow: REVIEW_FLOW, clock, log, metrics, userAgent: userAgentOf(boot) })
    return client
  }
}

function userAgentOf({ name, version }: Boot): string {
  return `${name}/${version}`
}

/** What listens for scrapers and probes. */
export interface Endpoint {
  readonly server: HttpServer | undefined
  /** The service has started, of which it tells. */
  started(started: { readonly service: Service; readonly backlog: Backlog }): void
  close(): Promise<void>
}

export interface EndpointOptions {
  /** What the log says when it cannot be started. */
  readonly failure: string
  /** Pairs that every line of `log` has, for that line too. */
  readonly context?: Pairs
  readonly log: Logger
  readonly security?: Security | undefined
  /** Whether there is a lease whose renewal is to be told of. */
  readonly elects: boolean
  /** For reviews. */
  readonly client: () => KubeClient
}

/** Starts the HTTP server, if flags ask for one. */
export async function openEndpoint(boot: Boot, options: EndpointOptions): Promise<Endpoint> {
  const { failure, context = {}, log, security, elects, client } = options
  const { clock, metrics, standard } = boot
  const { values } = standard
  const health = new Health(clock, metrics)
  const address = values['http-endpoint'] || values['metrics-address']
  let backlog: Backlog | undefined
  const started: Endpoint['started'] = (parts) => {
    health.started(parts.service)
    backlog = parts.backlog
  }
  if (address === '') return { started, server: undefined, close: async () => health.stop() }
  const metricsPath = values['metrics-path']
  const more =
    values['http-endpoint'] === ''
      ? {}
      : {
          health: health.checks(elects),
          debugStuck: (query: URLSearchParams) => debugStuck(backlog, query),
        }
  const guarded = { secure: security?.secure, guard: security?.guard(client) }
  const server = await startHttpServer({ address, metricsPath, metrics, log, ...guarded, ...more }).catch(
    failing(failure, { ...context, address, metricsPath }),
  )
  log.info('ServeMux listening', { address, metricsPath })
  const close = async (): Promise<void> => {
    health.stop()
    await server.close()
  }
  return { started, server, close }
}

/** Tracing, if a flag asks for it and the environment can be followed. Loaded only then. */
export async function tracingOf({ standard, runs, host, ...boot }: Boot): Promise<Tracing | undefined> {
  if (!standard.values['enable-otel-tracing'] || runs === undefined) return undefined
  const { openTracing } = await import('@csi-sidecars/telemetry/tracing')
  const program = { name: boot.name, version: boot.version, hostName: host.hostName }
  return openTracing({ ...boot, runs, env: host.env, program })
}

export interface ElectionOptions {
  /** A client apart from that of the work; made when it is needed. */
  readonly client: () => KubeClient
  /** The standard flags as the app takes them. */
  readonly standard: StandardFlags
  /** The Lease's name. */
  readonly name: string
  /** Source of its events, before the host's name. */
  readonly component: string
  /** Whether it has its name in metrics, too. */
  readonly named?: boolean
  readonly log: Logger
}

/** The elector for one Lease, if flags ask for leader election. */
export async function electorOf(boot: Boot, options: ElectionOptions): Promise<Elector | undefined> {
  const { name, log } = options
  const { values } = options.standard
  if (!values['leader-election']) return undefined
  const timing = leaseTimingError(values)
  if (timing !== undefined) {
    throw new StartError('Leader election timings are impossible', { cause: new Error(timing), exitCode: 2 })
  }
  const { clock, metrics, host } = boot
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
    ...(options.named === true && { metricName: name }),
    announce: (message, held) => {
      const { uid, resourceVersion } = held?.metadata ?? {}
      recorder.event({ ...target, uid, resourceVersion }, 'Normal', 'LeaderElection', message)
    },
  })
}
