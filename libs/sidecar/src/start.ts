import { Backlog } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import { type ClusterConfig, type KubeClient, loadClusterConfig } from '@csi-sidecars/kube-client'
import { giveBackMemory, type Logger } from '@csi-sidecars/telemetry'
import type { Tracing } from '@csi-sidecars/telemetry/tracing'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import type { SharedParts } from './app.ts'
import { logBacklog } from './backlog-log.ts'
import type { Boot } from './boot.ts'
import { CacheRegistry } from './caches.ts'
import { identifyDriver, openDriver } from './handshake.ts'
import { failingFor, type Member, unfitFor } from './member.ts'
import { type Chosen, electsLeader, type Plan } from './plan.ts'
import { rolesOf } from './roles.ts'
import { loadSecurity, openProfiling } from './secure/load.ts'
import type { Service } from './service.ts'
import { bothAddresses } from './start-checks.ts'
import { Answered, failing, StartError } from './start-error.ts'
import { type Endpoint, kubeClient, openEndpoint, reviewClient, tracingOf } from './steps.ts'

export interface Started {
  readonly service: Service
  /** The log with what the start has added to its context. */
  readonly log: Logger
}

/** The steps of a start, in the order in which users see them fail. Throws StartError or Answered. */
export async function start(given: Boot, plan: Plan): Promise<Started> {
  const { members, table, handshake } = plan
  const { failures } = table
  const { values } = given.standard
  const setGates = async (): Promise<void> => {
    for (const member of members) {
      const set = (): void => member.setGates(failures.gates, logOf(member, plan, given.log), table)
      await Promise.try(set).catch(failingFor({ member, members }))
    }
  }
  if (table.gatesFirst) await setGates()
  if (values.version) throw new Answered(`${given.host.argv0} ${given.version}\n`)
  given.log.info('Version', { version: given.version, replaces: members.map(({ replaces }) => replaces).join(', ') })
  if (bothAddresses(values)) throw new StartError(failures.addresses)
  if (!table.gatesFirst) await setGates()
  const security = await loadSecurity(given)
  await openProfiling(given)
  const tracing = await tracingOf(given)
  const boot = { ...given, tracer: tracing?.tracer }
  const config = await clusterConfig(boot, plan)
  for (const member of members) member.checkFlags()
  const client = await Promise.try(() => kubeClient(boot, config)).catch(failing(failures.client))
  for (const member of members) {
    await member.askServerForGates({ client, log: logOf(member, plan, boot.log), signal: boot.signal })
  }

  const driverBoot = { ...boot, address: values['csi-address'] }
  const identified = await identifyDriver(driverBoot, handshake)
  const context = table.context(identified.name)
  const log = boot.log.with(context)
  log.v(2)?.info('CSI driver name', table.namePairs(identified.name))
  try {
    const endpoint = (): Promise<Endpoint> =>
      openEndpoint(boot, {
        failure: failures.endpoint,
        context,
        log,
        security,
        elects: electsLeader(plan),
        client: reviewClient(boot, config),
      })
    const early = table.endpointFirst ? await endpoint() : undefined
    const driver = await openDriver({ ...driverBoot, log }, handshake, identified)
    const service = await assemble(boot, plan, { config, client, driver, startLog: log, early, endpoint, tracing })
    return { service, log }
  } catch (error) {
    identified.connection.close()
    throw error
  }
}

async function clusterConfig({ host, standard, clock, log }: Boot, { members, table }: Plan): Promise<ClusterConfig> {
  const { kubeconfig } = standard.values
  const master = members.map((member) => member.master).find((url) => url !== '') ?? ''
  return await loadClusterConfig({ kubeconfig, master, env: host.env, clock, log }).catch(
    failing(table.failures.config),
  )
}

interface Opened {
  readonly config: ClusterConfig
  readonly client: KubeClient
  readonly driver: Driver
  readonly startLog: Logger
  /** The endpoint, where it was opened before. */
  readonly early: Endpoint | undefined
  readonly endpoint: () => Promise<Endpoint>
  readonly tracing: Tracing | undefined
}

/** Chooses the controllers, then opens what is still to be opened. */
async function assemble(boot: Boot, plan: Plan, opened: Opened): Promise<Service> {
  const { clock, log } = boot
  const { client, driver, early, endpoint: open } = opened
  const caches = new CacheRegistry({ client, clock, log, traced: opened.tracing !== undefined })
  const backlog = new Backlog({ driver: driver.name, clock, metrics: boot.metrics })
  const chosen = plan.members.map((member) => choose(boot, plan, { ...opened, caches, backlog, member }))
  const endpoint = early ?? (await open())
  const queues = new QueueMetrics(boot.metrics, clock)
  for (const each of chosen) queues.declare(...each.queues)
  const roles = await rolesOf(boot, plan, { config: opened.config, driver, chosen, queues, backlog })
  const service: Service = {
    driver,
    caches: caches.all,
    roles,
    close: async (signal) => {
      await Promise.all(chosen.map(({ close }) => close?.(signal)))
      await Promise.all([endpoint.close(), opened.tracing?.close(signal)])
    },
  }
  endpoint.started({ service, backlog })
  boot.atEnd(logBacklog(backlog, { clock, log, intervalMs: boot.standard.values['log-backlog-interval'] }))
  boot.atEnd(giveBackMemory(boot).stop)
  return service
}

/** What the controllers of an app are chosen with. */
interface Choosing {
  readonly caches: CacheRegistry
  readonly backlog: Backlog
  readonly member: Member
}

/** Where several apps run, each line says whose it is. */
function logOf({ name }: Member, { members }: Plan, log: Logger): Logger {
  return members.length > 1 ? log.with({ sidecar: name }) : log
}

/** Where several apps run, a failure says how to start without that app. */
function choose(
  boot: Boot,
  plan: Plan,
  { client, driver, caches, backlog, startLog, member }: Opened & Choosing,
): Chosen {
  const { clock, metrics } = boot
  const { members } = plan
  const several = members.length > 1
  const log = logOf(member, plan, boot.log)
  try {
    const own = several ? caches.ownedBy(member.name) : caches
    const shared: SharedParts = {
      client,
      driver,
      caches: own,
      clock,
      metrics,
      backlog,
      log,
      startLog: logOf(member, plan, startLog),
    }
    return { member, log, ...member.controllers(shared) }
  } catch (error) {
    throw several && error instanceof StartError ? unfitFor(error, { member, members }) : error
  }
}
