import { CancelledError, scope } from '@csi-sidecars/base'
import {
  type Logger,
  type LogSink,
  Metrics,
  openLog,
  RunContexts,
  registerProcessMetrics,
} from '@csi-sidecars/telemetry'
import { knownGatesText, resolveGates } from '../flags/feature-gates.ts'
import { type Flag, type FlagTable, parseFlags, type RefusedFlags } from '../flags/go-flags.ts'
import { parsePFlags } from '../flags/pflag.ts'
import { STANDARD_FLAGS } from '../flags/standard-flags.ts'
import { replacesText, usageText } from '../flags/usage.ts'
import { type Ending, type ServeOptions, type ServeSettings, type StopSignal, serve } from '../serve/serve.ts'
import type { App, AppFlags, Host } from './app.ts'

import type { StartContext } from './context.ts'
import { startTable } from './defaults.ts'
import { instanceOf } from './instance.ts'
import type { StartPlan } from './plan.ts'
import { type Started, start } from './start.ts'
import { automaxprocsNotice, loggingError, type StandardFlags } from './start-checks.ts'
import { PrintAndExit, StartError } from './start-error.ts'

/** The exit code that goes with a fatal log line. */
const FATAL = 255
const RELEASE = 'ReleaseLeaderElectionOnExit'
/** How long the last log lines may take to leave the process. */
const FLUSH_MS = 1000

/** What a command line asks for. */
export type Command =
  | { readonly kind: 'help'; readonly usage: string }
  | (RefusedFlags & { readonly usage: string })
  | {
      readonly kind: 'start'
      /** The standard flags as far as they concern the process. */
      readonly standard: StandardFlags
      /** Whether a signal drains and releases the lease, or ends the process at once. */
      readonly release: boolean
      /** The last lines of the log when the process ends by itself. */
      readonly lastLines?: readonly string[]
      /** Throws StartError or PrintAndExit. */
      readonly start: (context: StartContext) => Promise<Started>
    }

/** What can be run from a command line. */
export interface Program {
  readonly name: string
  /** Without `env` no environment variable is set. */
  readonly parse: (host: Pick<Host, 'argv0' | 'args'> & Partial<Pick<Host, 'env'>>) => Command
}

/** The program that is one app. */
export function programOf<const T extends FlagTable, N extends string>(app: App<T, N>): Program {
  const table = [...STANDARD_FLAGS.map((flag) => withEarlierNames(flag, app)), ...app.flags] as unknown as AppFlags<T>
  const parseArguments = app.flagSyntax === 'pflag' ? parsePFlags : parseFlags
  return {
    name: app.name,
    parse({ argv0, args, env = {} }) {
      const parsed = parseArguments(table, args)
      const usage = (): string =>
        usageText(argv0, table, { 'feature-gates': knownGatesText(app.gates) }) + replacesText([app.replaces])
      if (parsed.kind !== 'flags') return { ...parsed, usage: usage() }
      const instance = instanceOf(app, parsed.flags)
      const error = instance.contradiction(env)
      if (error !== undefined) return { kind: 'refused', error, usage: usage() }
      const { handshake, standard } = instance
      return startOf({ instances: [instance], table: startTable(app), handshake }, standard)
    },
  }
}

function withEarlierNames(flag: Flag, { earlierNames = {} }: Pick<App<FlagTable>, 'earlierNames'>): Flag {
  const aliases = Object.hasOwn(earlierNames, flag.name) ? earlierNames[flag.name] : undefined
  return aliases === undefined ? flag : { ...flag, aliases }
}

/** The command that carries out a plan. */
export function startOf(plan: StartPlan, standard: StandardFlags): Command {
  const { instances, driverApps = [] } = plan
  const lastLines = instances.length === 0 ? [] : driverApps.map(({ endsToo }) => endsToo)
  return { kind: 'start', standard, release: releasesOnExit(plan), lastLines, start: (context) => start(context, plan) }
}

/** Runs a program from its command line to its end. Every failure of the start is one line that says what is wrong. */
export async function runProgram(program: Program, host: Host, version: string): Promise<Ending> {
  const command = program.parse(host)
  if (command.kind !== 'start') {
    host.stderr.write(command.kind === 'help' ? command.usage : refusalText(command))
    return { code: command.kind === 'help' ? 0 : 2 }
  }
  const { standard, release, lastLines = [] } = command
  const runs = logsRuns(standard) || standard.values['enable-otel-tracing'] ? new RunContexts() : undefined
  const { log, sink } = openAppLog(host, standard, runs)
  using asked = scope()
  using ends = new DisposableStack()
  const atEnd = (close: () => void): void => ends.defer(close)
  const logLast = (): void => lastLines.forEach((line) => void log.error(undefined, line))
  let askedFor: Ending | undefined
  let receive = (signal: StopSignal): void => {
    // There is nothing yet to drain or to release.
    askedFor ??= release ? { code: 0 } : { bySignal: signal }
    asked.abort(new CancelledError(`received ${signal}`))
  }
  // One listener for the whole life: a signal that is on its way to one that is removed is lost.
  const forgetSignals = host.onSignal((signal) => receive(signal))
  try {
    checkLogging(standard)
    const notice = automaxprocsNotice(standard.values)
    if (notice !== undefined) log.info(notice)
    const metrics = new Metrics()
    registerProcessMetrics(metrics)
    const { clock } = host
    const { signal } = asked
    const context = { name: program.name, host, standard, clock, log, metrics, version, runs, signal, atEnd }
    const started = await command.start(context)
    // Steps that did not wait have not seen the signal.
    signal.throwIfAborted()
    const onSignal = (listener: typeof receive): void => {
      receive = listener
    }
    if (started.service === undefined) return await untilSignal(onSignal)
    const ending = await serve({
      ...host,
      service: started.service,
      log: started.log,
      settings: serveSettings(standard, release),
      onSignal,
      terminationMessage: terminationMessage(host, log),
    })
    if (isFailure(ending)) logLast()
    return ending
  } catch (error) {
    const ending = endOf(error, { host, log, askedFor })
    if (isFailure(ending)) logLast()
    return ending
  } finally {
    forgetSignals()
    await sink.flush(FLUSH_MS)
  }
}

const isFailure = (ending: Ending): boolean => 'code' in ending && ending.code !== 0

/** Nothing is to be drained or released: a signal ends the process as if it had no handler. */
function untilSignal(onSignal: ServeOptions['onSignal']): Promise<Ending> {
  return new Promise((resolve) => onSignal((signal) => resolve({ bySignal: signal })))
}

/** The error comes first, as in Go, and last: a termination message has the end of the log alone. */
function refusalText({ error, nearest, usage }: RefusedFlags & { readonly usage: string }): string {
  const hint = nearest === undefined ? '' : `; the nearest flag is --${nearest}`
  return `${error}\n${usage}\n${error}${hint}\n`
}

/** From this verbosity on the lines of a run name it: they are about steps, and of many runs at once. */
const STEPS = 4

/**
 * In JSON a line has one key more. In text below this verbosity lines stay as those of the originals, which many
 * programs read.
 */
function logsRuns({ values }: StandardFlags): boolean {
  if (values['logging-format'] === 'json' || values.v >= STEPS) return true
  return values.vmodule.some(({ level }) => level >= STEPS)
}

function openAppLog(
  { clock, stderr }: Host,
  standard: StandardFlags,
  runs: RunContexts | undefined,
): { log: Logger; sink: LogSink } {
  const { values } = standard
  // A format that is refused, or comes with options that are, is refused in text.
  const format = values['logging-format'] === 'json' && loggingError(values) === undefined ? 'json' : 'text'
  const traceId = runs !== undefined && logsRuns(standard) ? () => runs.current?.traceId : undefined
  return openLog({ format, verbosity: values.v, vmodule: values.vmodule, clock, stream: stderr, traceId })
}

function checkLogging({ values }: StandardFlags): void {
  const logging = loggingError(values)
  if (logging !== undefined) throw new StartError('LoggingConfiguration is invalid', { cause: new Error(logging) })
}

/** Whether every app that has the gate wants its lease released. Gates that the start will refuse leave the default. */
function releasesOnExit({ instances }: StartPlan): boolean {
  if (instances.length === 0) return false
  return instances.every(({ gates, standard }) => {
    if (!Object.hasOwn(gates.own, RELEASE)) return true
    const resolved = resolveGates(gates, standard.values['feature-gates'])
    return resolved.kind === 'refused' || resolved.gates.enabled(RELEASE)
  })
}

function serveSettings({ values }: StandardFlags, release: boolean): ServeSettings {
  return {
    onLeaseLoss: values['on-lease-loss'],
    onDriverLoss: values['on-driver-loss'],
    driverGraceMs: values['driver-grace-period'],
    drainMs: values['drain-timeout'],
    release,
  }
}

function terminationMessage(host: Host, log: Logger): (message: string) => Promise<void> {
  return (message) =>
    host
      .writeTerminationMessage(message)
      .catch((error: unknown) => log.error(error, 'The termination message could not be written'))
}

interface EndContext {
  readonly host: Host
  readonly log: Logger
  /** Set when the process was asked to end before it had started. */
  readonly askedFor: Ending | undefined
}

/** What the process ends with when its start, or serving, threw. */
function endOf(error: unknown, { host, log, askedFor }: EndContext): Ending {
  if (error instanceof PrintAndExit) {
    host.stdout.write(error.message)
    return { code: 0 }
  }
  if (askedFor !== undefined) return askedFor
  if (error instanceof StartError) {
    if (error.exitCode === FATAL) log.fatal(error.message)
    else log.error(error.cause, error.message, error.pairs)
    return { code: error.exitCode }
  }
  log.error(error, 'Unexpected failure')
  return { code: 1 }
}
