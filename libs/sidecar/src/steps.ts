import { createRecorder } from '@csi-sidecars/events'
import { type ClusterConfig, createKubeClient, flowOptions, type KubeClient } from '@csi-sidecars/kube-client'
import { Elector } from '@csi-sidecars/leader-election'
import type { Logger, Pairs } from '@csi-sidecars/telemetry'
import type { Boot } from './app.ts'
import { type FeatureGates, resolveGates } from './feature-gates.ts'
import type { GateTable } from './gate-tables.ts'
import type { FlagTable } from './go-flags.ts'
import { Health } from './health.ts'
import { type HttpServer, startHttpServer } from './http-server.ts'
import { leaseIdentity, leaseName, leaseNamespace } from './lease-name.ts'
import { leaseTimingError, type StandardFlags } from './start-checks.ts'
import { failing, StartError } from './start-error.ts'

/** The standard flags among an app's, which the compiler does not see through the type parameter. */
export function standardFlags<T extends FlagTable>(boot: Boot<T>): StandardFlags {
  return boot.flags as unknown as StandardFlags
}

/** The gates as the flags set them. `failure` is what the log says when they cannot be set so. */
export function featureGates<T extends FlagTable, N extends string>(
  boot: Boot<T>,
  table: GateTable<N>,
  failure: string,
): FeatureGates<N> {
  const resolved = resolveGates(table, standardFlags(boot).values['feature-gates'])
  if (resolved.kind === 'refused') throw new StartError(failure, { cause: new Error(resolved.error) })
  for (const { message, pairs } of resolved.notices) boot.log.info(message, pairs)
  return resolved.gates
}

/** A client whose requests are limited as the flags say. Each one made has limits of its own; all call themselves the same. */
export function kubeClient<T extends FlagTable>(boot: Boot<T>, config: ClusterConfig): KubeClient {
  const { values, given } = standardFlags(boot)
  const { clock, log, metrics } = boot
  const flow = flowOptions({
    qps: given.has('kube-api-qps') ? values['kube-api-qps'] : undefined,
    burst: given.has('kube-api-burst') ? values['kube-api-burst'] : undefined,
  })
  const client = createKubeClient({ config, flow, clock, log, metrics, userAgent: `${boot.name}/${boot.version}` })
  boot.atEnd(() => client.close())
  return client
}

/** What listens for scrapers and probes. */
export interface Endpoint {
  readonly health: Health
  readonly server: HttpServer | undefined
  close(): Promise<void>
}

export interface EndpointOptions {
  /** What the log says when it cannot be started. */
  readonly failure: string
  /** Pairs that every line of `log` has, for that line too. */
  readonly context?: Pairs
  readonly log: Logger
}

/** Starts the HTTP server, if flags ask for one. */
export async function openEndpoint<T extends FlagTable>(
  boot: Boot<T>,
  { failure, context = {}, log }: EndpointOptions,
): Promise<Endpoint> {
  const { values } = standardFlags(boot)
  const { clock, metrics } = boot
  const health = new Health(clock, metrics)
  const address = values['http-endpoint'] || values['metrics-address']
  if (address === '') return { health, server: undefined, close: async () => health.stop() }
  const metricsPath = values['metrics-path']
  const checks = values['http-endpoint'] === '' ? {} : { health: health.checks(values['leader-election']) }
  const server = await startHttpServer({ address, metricsPath, metrics, log, ...checks }).catch(
    failing(failure, { ...context, address, metricsPath }),
  )
  log.info('ServeMux listening', { address, metricsPath })
  const close = async (): Promise<void> => {
    health.stop()
    await server.close()
  }
  return { health, server, close }
}

export interface ElectionNames {
  /** Put before the driver's name: `external-attacher-leader-`. */
  readonly leasePrefix: string
  readonly driverName: string
  /** Source of the Lease's events, before the host's name. */
  readonly component: string
}

/** The elector, if flags ask for leader election. It has a client of its own. */
export async function electorOf<T extends FlagTable>(
  boot: Boot<T>,
  config: ClusterConfig,
  names: ElectionNames,
): Promise<Elector | undefined> {
  const { values } = standardFlags(boot)
  if (!values['leader-election']) return undefined
  const timing = leaseTimingError(values)
  if (timing !== undefined) {
    throw new StartError('Leader election timings are impossible', { cause: new Error(timing), exitCode: 2 })
  }
  const { clock, log, metrics, host } = boot
  const client = kubeClient(boot, config)
  const namespace = await leaseNamespace({ flag: values['leader-election-namespace'], env: host.env })
  const name = leaseName(names.leasePrefix, names.driverName)
  const component = `${names.component}/${host.hostName}`
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
    announce: (message, lease) => {
      const { uid, resourceVersion } = lease?.metadata ?? {}
      recorder.event({ ...target, uid, resourceVersion }, 'Normal', 'LeaderElection', message)
    },
  })
}
