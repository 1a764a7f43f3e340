import type { KubeClient } from '@csi-sidecars/kube-client'
import { type Logger, openLog, RunContexts } from '@csi-sidecars/telemetry'
import { type AppControllers, type AppParts, throwErrorBefore } from '../app.ts'
import { type FeatureGates, resolveGates } from '../flags/feature-gates.ts'
import { automaxprocsNotice, loggingError, type StandardFlags, setsBothAddresses } from '../flags/flag-checks.ts'
import type { Host, StartContext } from '../process.ts'
import { PrintAndExit, StartError, stepError } from '../start-error.ts'
import { type ChosenApp, logOf, notApplicable, type StartPlan, standardOf, withSidecarName } from './program.ts'
import type { LeadingApp } from './roles.ts'

/** A chosen app together with the values of its feature gates. */
export interface GatedApp extends ChosenApp {
  readonly gates: FeatureGates
}

/** The verbosity from which log lines contain the ID of their run, because many runs log their steps at once. */
const STEPS = 4

/**
 * Reports whether log lines contain the ID of their run: always in JSON, in text only from the verbosity `STEPS` on,
 * because many programs read the text lines of the Go sidecars.
 */
function logsRuns({ values }: StandardFlags): boolean {
  if (values['logging-format'] === 'json' || values.v >= STEPS) return true
  return values.vmodule.some(({ level }) => level >= STEPS)
}

/** The longest time for writing the last log lines. */
const FLUSH_TIMEOUT_MS = 1000

/** Opens the log of the process. If the format or its options are invalid, the log is in text. */
export function openAppLog(
  { clock, stderr }: Host,
  standard: StandardFlags,
): { readonly log: Logger; readonly runs: RunContexts | undefined; readonly flush: () => Promise<void> } {
  const { values } = standard
  const logged = logsRuns(standard)
  const runs = logged || values['enable-otel-tracing'] ? new RunContexts() : undefined
  const format = values['logging-format'] === 'json' && loggingError(values) === undefined ? 'json' : 'text'
  const traceId = logged ? () => runs?.current?.traceId : undefined
  const { v: verbosity, vmodule } = values
  const { log, sink } = openLog({ format, verbosity, vmodule, clock, stream: stderr, traceId })
  return { log, runs, flush: () => sink.flush(FLUSH_TIMEOUT_MS) }
}

/** Throws if a logging option is not supported, and logs that --automaxprocs has no effect. */
export function checkLogging({ values }: StandardFlags, log: Logger): void {
  const logging = loggingError(values)
  if (logging !== undefined) throw new StartError('LoggingConfiguration is invalid', { cause: new Error(logging) })
  const notice = automaxprocsNotice(values)
  if (notice !== undefined) log.info(notice)
}

/** Makes the checks that need only the command line. Throws StartError, and PrintAndExit for --version. */
export function checkCommandLine(
  { host, log, version, standard: { values } }: StartContext,
  { sidecars, driverApps, table }: StartPlan,
): readonly GatedApp[] {
  const setGates = (): readonly GatedApp[] =>
    sidecars.map((sidecar) => ({ ...sidecar, gates: gatesOf(sidecar, log, table) }))
  const early = table.checksGatesBeforeVersion ? setGates() : undefined
  throwErrorBefore('version', sidecars)
  if (values.version) throw new PrintAndExit(`${host.argv0} ${version}\n`)
  const replaces = [...sidecars, ...driverApps].map(({ app }) => app.replaces).join(', ')
  log.info('Version', { version, replaces })
  warnOfLittleMemory({ limit: host.memoryLimit, sidecars: sidecars.length }, log)
  warnOfFips(host.env, log)
  if (sidecars.length > 0 && table.bothAddressesError !== undefined && setsBothAddresses(values)) {
    throw stepError(table.bothAddressesError, undefined, {})
  }
  return early ?? setGates()
}

function gatesOf(
  sidecar: ChosenApp,
  log: Logger,
  { gatesFailed, logsRequestedGates }: StartPlan['table'],
): FeatureGates {
  const requested = standardOf(sidecar.flags).values['feature-gates']
  const resolvedGates = resolveGates(sidecar.app.gates, requested)
  if (resolvedGates.kind === 'refused') {
    const pairs = logsRequestedGates ? { featureGates: Object.fromEntries([...requested].sort()) } : {}
    return withSidecarName(sidecar)(stepError(gatesFailed, new Error(resolvedGates.error), pairs))
  }
  for (const { message, pairs } of resolvedGates.notices) logOf(sidecar, log).info(message, pairs)
  return resolvedGates.gates
}

const MIB = 1024 * 1024
/** The minimum memory. With less, the kernel reads the executable from disk all the time, which is very slow. */
const NEEDED_MIB = { one: 80, several: 96 }
const PER_THOUSAND_OBJECTS_MIB = 2

/** Warns of a memory limit that is too low. Nothing else reports it: the process is not killed, only slow. */
export function warnOfLittleMemory(
  { limit, sidecars }: { readonly limit: number | undefined; readonly sidecars: number },
  log: Logger,
): void {
  const needed = sidecars > 1 ? NEEDED_MIB.several : NEEDED_MIB.one
  // Node.js reports 0 if it finds no control group.
  if (limit === undefined || limit === 0 || limit >= needed * MIB) return
  log.warn('The memory limit is too low: the sidecar will be slow, and read from disk all the time', {
    limit: `${Math.floor(limit / MIB)}Mi`,
    needed: `${needed}Mi`,
    neededPerThousandObjects: `${PER_THOUSAND_OBJECTS_MIB}Mi`,
  })
}

/**
 * Warns if the environment asks the runtime of Go for its validated cryptographic module. A container keeps its
 * variables when its image is replaced, so a cluster could lose FIPS 140 without a sign.
 */
export function warnOfFips({ GODEBUG = '' }: NodeJS.ProcessEnv, log: Logger): void {
  const fips140 = GODEBUG.split(',').reduce((last, pair) => /^fips140=(.*)$/.exec(pair)?.[1] ?? last, 'off')
  if (fips140 === 'off') return
  log.warn('GODEBUG=fips140 has no effect: this process is not Go, and its cryptography is not validated', { fips140 })
}

/** Lets each app ask the API server. Returns the apps with their resulting gates. */
export async function adaptGatesToServer(
  { host, log, signal }: StartContext,
  client: KubeClient,
  sidecars: readonly GatedApp[],
): Promise<readonly GatedApp[]> {
  const asked: GatedApp[] = []
  for (const sidecar of sidecars) {
    const { app, flags, gates } = sidecar
    const server = { client, log: logOf(sidecar, log), env: host.env, signal, flags, gates }
    const current = await app.adaptGatesToServer?.(server).catch(withSidecarName(sidecar))
    asked.push({ ...sidecar, gates: current ?? gates })
  }
  return asked
}

type SelectedApp = AppControllers & Omit<LeadingApp, 'lead'>

/** Lets one app after the other choose its controllers. */
export async function selectControllers(
  sidecars: readonly GatedApp[],
  shared: Omit<AppParts, 'flags' | 'gates'>,
): Promise<readonly SelectedApp[]> {
  const selected: SelectedApp[] = []
  for (const sidecar of sidecars) selected.push(await select(sidecar, shared))
  return selected
}

/** Lets an app choose its controllers. If several apps run, an error says how to start without this app. */
async function select(sidecar: GatedApp, shared: Omit<AppParts, 'flags' | 'gates'>): Promise<SelectedApp> {
  const { app, flags, gates, companions } = sidecar
  const log = logOf(sidecar, shared.log)
  const caches = companions.length > 0 ? shared.caches.ownedBy(app.name) : shared.caches
  try {
    const startLog = logOf(sidecar, shared.startLog)
    return { sidecar, log, ...(await app.controllers({ ...shared, caches, log, startLog, flags, gates })) }
  } catch (error) {
    throw notApplicable(error, sidecar)
  }
}
