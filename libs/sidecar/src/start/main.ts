import process from 'node:process'
import { CancelledError, scope } from '@csi-sidecars/base'
import { Backlog, type Lead, runTerm } from '@csi-sidecars/controller'
import { MissingPermissions } from '@csi-sidecars/kube-client'
import { API_IN_FLIGHT_LIMIT, Metrics, registerProcessMetrics } from '@csi-sidecars/telemetry'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import type { AppControllers } from '../app.ts'
import { identifyDriver, openDriver, openDriverAnswers } from '../driver/handshake.ts'
import { replaceRemovedFlags } from '../flags/removed-flags.ts'
import { type Host, type ProcessEnding, processHost, type StartContext } from '../process.ts'
import { logBacklog } from '../serve/backlog-log.ts'
import { CacheRegistry } from '../serve/caches.ts'
import { withRunIds } from '../serve/runs.ts'
import { type StartedService, serve } from '../serve/serve.ts'
import { failing } from '../start-error.ts'
import { UnreferencedReport } from '../unreferenced/report.ts'
import {
  adaptGatesToServer,
  checkCommandLine,
  checkLogging,
  type GatedApp,
  openAppLog,
  selectControllers,
} from './checks.ts'
import { earlyStop, endOf, logLastLines, refuse, serveSettings, terminationMessage, uncaughtErrors } from './endings.ts'
import { logOf, type Program, releasesOnExit, type StartPlan } from './program.ts'
import { type LeadingApp, rolesOf } from './roles.ts'
import {
  type HttpEndpoint,
  kubeClient,
  loadConfig,
  loadSecurity,
  openEndpoint,
  reviewClient,
  tracingOf,
} from './steps.ts'

// This file shows the calls from `main` to the first reconcile, in their order: `main`, `runProgram`, `start`,
// `startControllers`, `serve`, which elects a leader for each role, and `runTerm`, whose workers call `reconcile`.

declare const __VERSION__: string | undefined

/** The version, which the build sets. A program that runs from source has none. */
const VERSION = typeof __VERSION__ === 'undefined' ? 'unknown' : __VERSION__

/** Runs the program in this process, and then ends the process. */
export async function main(program: Program): Promise<never> {
  const ending = await runProgram(program, processHost(process), { version: VERSION })
  if ('bySignal' in ending) {
    process.removeAllListeners(ending.bySignal)
    process.kill(process.pid, ending.bySignal)
  }
  // A signal does not kill the first process of a container, so this process exits with the code for the signal.
  process.exit('code' in ending ? ending.code : { SIGINT: 130, SIGTERM: 143 }[ending.bySignal])
}

/** Runs a program from its command line to its end. A failed start becomes one log line that says what is wrong. */
export async function runProgram(program: Program, host: Host, options: RunOptions): Promise<ProcessEnding> {
  const { args, notices } = replaceRemovedFlags(host.args)
  const command = program.parse({ ...host, args })
  if (command.kind !== 'start') return refuse(command, host)
  const { log, runs, flush } = openAppLog(host, command.standard)
  for (const { message, pairs } of notices) log.warn(message, pairs)
  const { clock } = host
  const metrics = new Metrics()
  using uncaught = uncaughtErrors(host, log)
  const ending = await Promise.race([
    runPlan(command, { ...options, name: program.name, host, clock, log, metrics, runs }),
    uncaught.ending,
  ])
  if ('code' in ending && ending.code !== 0) logLastLines(command, log)
  await flush()
  return ending
}

interface RunOptions {
  readonly version: string
  /** Starts the service. Tests replace it. Default: `start`. */
  readonly begin?: typeof start
}

async function runPlan(
  plan: StartPlan,
  { begin = start, ...context }: RunOptions & Omit<StartContext, 'standard' | 'signal' | 'atEnd'>,
): Promise<ProcessEnding> {
  const { host, log, clock } = context
  const { standard } = plan
  const release = releasesOnExit(plan)
  using stop = earlyStop(host, release)
  using ends = new DisposableStack()
  try {
    checkLogging(standard, log)
    registerProcessMetrics(context.metrics)
    const { signal, onSignal } = stop
    const service = await begin({ ...context, standard, signal, atEnd: (close) => ends.defer(close) }, plan)
    // A signal does not make the last step of the start fail, so the signal is checked here.
    signal.throwIfAborted()
    if (service === undefined) return await new Promise((resolve) => onSignal((bySignal) => resolve({ bySignal })))
    const settings = serveSettings(plan, release)
    return await serve({ service, settings, clock, onSignal, terminationMessage: terminationMessage(host, log) })
  } catch (error) {
    return endOf(error, stop.askedFor(), { host, log })
  }
}

/** Starts the process. Users see failures in the order of the steps. Throws StartError or PrintAndExit. */
async function start(startContext: StartContext, plan: StartPlan): Promise<StartedService | undefined> {
  const sidecars = checkCommandLine(startContext, plan)
  using starting = scope(startContext.signal)
  const context = { ...startContext, signal: starting.signal }
  try {
    const [service] = await Promise.all([
      sidecars.length === 0 ? undefined : startControllers(context, plan, sidecars),
      openDriverApps(context, plan),
    ])
    return service
  } catch (error) {
    starting.abort(new CancelledError('another part of the start has failed'))
    throw error
  }
}

/** Opens the driver apps. They need only the driver, so they do not wait for the start of the controllers. */
async function openDriverApps(context: StartContext, { sidecars, driverApps }: StartPlan): Promise<void> {
  const isOnlyApp = sidecars.length + driverApps.length === 1
  await Promise.all(
    driverApps.map((each) =>
      each.app.open({ ...context, log: logOf(each, context.log), flags: each.flags, isOnlyApp }),
    ),
  )
}

/** Connects to the API server and to the driver, and lets each app choose its controllers. No controller runs yet. */
async function startControllers(
  startContext: StartContext,
  plan: StartPlan,
  sidecars: readonly GatedApp[],
): Promise<StartedService> {
  const { table, handshake } = plan
  const security = await loadSecurity(startContext)
  const tracing = await tracingOf(startContext)
  const context = { ...startContext, tracer: tracing?.tracer, missing: new MissingPermissions(startContext) }
  const config = await loadConfig(context, plan)
  const client = await Promise.try(() => kubeClient(context, config)).catch(failing(table.clientFailed))
  context.metrics.addReading({ ...API_IN_FLIGHT_LIMIT, type: 'gauge', read: () => client.limits.inFlight })
  const gated = await adaptGatesToServer(context, client, sidecars)

  const identity = await identifyDriver(context, handshake)
  const pairs = table.startLogNamesDriver ? { driver: identity.name } : {}
  const log = context.log.with(pairs)
  log.v(2)?.info('CSI driver name', table.startLogNamesDriver ? {} : { driverName: identity.name })
  try {
    const endpointOptions = {
      security,
      limits: () => client.limits,
      client: reviewClient(context, config),
      pairs,
    }
    const open = (): Promise<HttpEndpoint> => openEndpoint({ ...context, log }, plan, endpointOptions)
    const early = table.opensServerBeforeHandshake ? await open() : undefined
    const driver = await openDriver({ ...context, log }, handshake, identity)
    const { clock, metrics } = context
    const caches = new CacheRegistry({ ...context, client, isTraced: context.tracer !== undefined })
    const backlog = new Backlog({ driver: driver.name, clock, metrics })
    const unreferenced = new UnreferencedReport({ driver: driver.name, metrics })
    const { env, hostName } = context.host
    const shared = { ...context, client, driver, caches, backlog, unreferenced, startLog: log, env, hostName }
    const selected = await selectControllers(gated, shared)
    const endpoint = early ?? (await open())
    const queues = new QueueMetrics(metrics, clock)
    for (const each of selected) queues.declare(...each.queues)
    /** While an app leads, the workers of its controllers take keys from their queues and call `reconcile`. */
    const work = ({ controllers }: AppControllers, lead: Lead): Promise<void> =>
      runTerm(lead, withRunIds(context, driver, controllers(lead)), { clock, driver, queues, backlog })
    const apps = selected.map((app): LeadingApp => ({ ...app, lead: (lead) => work(app, lead) }))
    const roles = await rolesOf(context, plan, { config, driverName: driver.name, apps })
    const close = async (signal: AbortSignal): Promise<void> => {
      await Promise.all(selected.map((app) => app.close?.(signal)))
      await Promise.all([endpoint.close(), tracing?.close(signal)])
    }
    const service = { log, driver, caches: caches.all, roles, close }
    endpoint.setService({ service, backlog, unreferenced, answers: openDriverAnswers({ ...context, log }, driver) })
    context.atEnd(logBacklog(backlog, context, context.standard.values['log-backlog-interval']))
    return service
  } catch (error) {
    identity.connection.close()
    throw error
  }
}
