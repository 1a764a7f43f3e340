import { CancelledError, scope } from '@csi-sidecars/base'
import { Backlog } from '@csi-sidecars/controller'
import { type ClusterConfig, loadClusterConfig } from '@csi-sidecars/kube-client'
import { API_IN_FLIGHT_LIMIT, type Logger } from '@csi-sidecars/telemetry'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import { answersOf, identifyDriver, openDriver } from '../driver/handshake.ts'
import { loadSecurity } from '../http/secure/load.ts'
import { logBacklog } from '../serve/backlog-log.ts'
import { CacheRegistry } from '../serve/caches.ts'
import { rolesOf } from '../serve/roles.ts'
import type { Service } from '../serve/service.ts'
import type { SharedParts } from './app.ts'
import type { StartContext } from './context.ts'
import { logOf, notApplicable, type SidecarInstance, withSidecarName } from './instance.ts'
import { warnOfLittleMemory } from './little-memory.ts'
import { electsLeader, type SelectedControllers, type StartPlan } from './plan.ts'
import { bothAddresses } from './start-checks.ts'
import { failing, PrintAndExit, StartError } from './start-error.ts'
import { type Endpoint, kubeClient, openEndpoint, reviewClient, tracingOf } from './steps.ts'

export interface Started {
  /** Undefined where only driver apps run: they work by themselves. */
  readonly service?: Service
  /** The log with what the start has added to its context. */
  readonly log: Logger
}

/** The steps of a start, in the order in which users see them fail. Throws StartError or PrintAndExit. */
export async function start(given: StartContext, plan: StartPlan): Promise<Started> {
  await check(given, plan)
  using starting = scope(given.signal)
  const context = { ...given, signal: starting.signal }
  const { instances } = plan
  try {
    const [started] = await Promise.all([
      instances.length === 0 ? { log: given.log } : startControllers(context, plan),
      openDriverApps(context, plan),
    ])
    return started
  } catch (error) {
    starting.abort(new CancelledError('another part of the start has failed'))
    throw error
  }
}

/** They wait for the driver alone, whatever delays the controllers. */
async function openDriverApps(
  { clock, log, signal, atEnd }: StartContext,
  { instances, driverApps = [] }: StartPlan,
): Promise<void> {
  const alone = instances.length + driverApps.length === 1
  await Promise.all(driverApps.map((app) => app.open({ clock, log, signal, atEnd, alone })))
}

/** What the command line alone decides. */
async function check(given: StartContext, { instances, driverApps = [], table }: StartPlan): Promise<void> {
  const { failures } = table
  const { values } = given.standard
  const setGates = async (): Promise<void> => {
    for (const instance of instances) {
      const set = (): void => instance.setGates(failures.gates, logOf(instance, given.log), table)
      await Promise.try(set).catch(withSidecarName(instance))
    }
  }
  if (table.gatesFirst) await setGates()
  if (values.version) throw new PrintAndExit(`${given.host.argv0} ${given.version}\n`)
  const replaces = [...instances, ...driverApps].map((app) => app.replaces).join(', ')
  given.log.info('Version', { version: given.version, replaces })
  warnOfLittleMemory({ limit: given.host.memoryLimit, sidecars: instances.length }, given.log)
  if (instances.length > 0 && bothAddresses(values)) throw new StartError(failures.addresses)
  if (!table.gatesFirst) await setGates()
}

async function startControllers(given: StartContext, plan: StartPlan): Promise<Started> {
  const { instances, table, handshake } = plan
  const { failures } = table
  const security = await loadSecurity(given)
  const tracing = await tracingOf(given)
  const context = { ...given, tracer: tracing?.tracer }
  const config = await clusterConfig(context, plan)
  for (const instance of instances) instance.checkFlags()
  const client = await Promise.try(() => kubeClient(context, config)).catch(failing(failures.client))
  context.metrics.reading({ ...API_IN_FLIGHT_LIMIT, type: 'gauge', read: () => client.limits.inFlight })
  for (const instance of instances) {
    const server = { client, log: logOf(instance, context.log), signal: context.signal }
    await instance.askServerForGates(server)
    await instance.checkServer(context.host.env, server).catch(withSidecarName(instance))
  }

  const identified = await identifyDriver(context, handshake)
  const pairs = table.context(identified.name)
  const log = context.log.with(pairs)
  log.v(2)?.info('CSI driver name', table.namePairs(identified.name))
  try {
    const openEndpointNow = (): Promise<Endpoint> =>
      openEndpoint(context, {
        failure: failures.endpoint,
        pairs,
        log,
        security,
        elects: electsLeader(plan),
        client: reviewClient(context, config),
        limits: () => client.limits,
      })
    const early = table.endpointFirst ? await openEndpointNow() : undefined
    const driver = await openDriver({ ...context, log }, handshake, identified)
    const shared = sharedParts(context, { client, driver, startLog: log })
    const selected = instances.map((instance) => selectControllers(instance, shared))
    const endpoint = early ?? (await openEndpointNow())
    const queues = new QueueMetrics(context.metrics, context.clock)
    for (const each of selected) queues.declare(...each.queues)
    const { backlog, caches } = shared
    const roles = await rolesOf(context, plan, { config, driver, selected, queues, backlog })
    const service: Service = {
      driver,
      caches: caches.all,
      roles,
      close: async (signal) => {
        await Promise.all(selected.map(({ close }) => close?.(signal)))
        await Promise.all([endpoint.close(), tracing?.close(signal)])
      },
    }
    endpoint.started({ service, backlog, answers: answersOf({ ...context, log }, driver) })
    reportWhileRunning(context, shared)
    return { service, log }
  } catch (error) {
    identified.connection.close()
    throw error
  }
}

async function clusterConfig(
  { host, standard, clock, log }: StartContext,
  { instances, table }: StartPlan,
): Promise<ClusterConfig> {
  const { kubeconfig } = standard.values
  const master = instances.map((instance) => instance.master).find((url) => url !== '') ?? ''
  return await loadClusterConfig({ kubeconfig, master, env: host.env, clock, log }).catch(
    failing(table.failures.config),
  )
}

function sharedParts(
  { host, clock, metrics, log, tracer }: StartContext,
  given: Pick<SharedParts, 'client' | 'driver' | 'startLog'>,
): SharedParts {
  const { client, driver } = given
  const caches = new CacheRegistry({ client, clock, log, traced: tracer !== undefined })
  const backlog = new Backlog({ driver: driver.name, clock, metrics })
  return { ...given, caches, clock, metrics, backlog, log, env: host.env }
}

/** Where several apps run, a failure says how to start without that app. */
function selectControllers(instance: SidecarInstance, shared: SharedParts): SelectedControllers {
  const { name, companions } = instance
  const log = logOf(instance, shared.log)
  const caches = companions.length > 0 ? shared.caches.ownedBy(name) : shared.caches
  try {
    const parts = { ...shared, caches, log, startLog: logOf(instance, shared.startLog) }
    return { instance, log, ...instance.controllers(parts) }
  } catch (error) {
    throw error instanceof StartError ? notApplicable(error, instance) : error
  }
}

function reportWhileRunning(
  { clock, log, standard, atEnd }: StartContext,
  { backlog }: Pick<SharedParts, 'backlog'>,
): void {
  atEnd(logBacklog(backlog, { clock, log, intervalMs: standard.values['log-backlog-interval'] }))
}
