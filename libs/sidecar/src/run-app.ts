import { CancelledError, scope } from '@csi-sidecars/base'
import { type Logger, type LogSink, Metrics, openLog, registerProcessMetrics } from '@csi-sidecars/telemetry'
import type { App, Host } from './app.ts'
import { knownGatesText, resolveGates } from './feature-gates.ts'
import { type FlagTable, parseFlags } from './go-flags.ts'
import { type Ending, type ServeSettings, serve } from './serve.ts'
import { STANDARD_FLAGS } from './standard-flags.ts'
import { automaxprocsNotice, loggingError, type StandardFlags } from './start-checks.ts'
import { Answered, StartError } from './start-error.ts'
import { usageText } from './usage.ts'

/** The exit code that goes with a fatal log line. */
const FATAL = 255
/** How long the last log lines may take to leave the process. */
const FLUSH_MS = 1000

/** Runs an app from its command line to its end. Every failure of the start is one line that says what is wrong. */
export async function runApp<const T extends FlagTable>(app: App<T>, host: Host, version: string): Promise<Ending> {
  const table = [...STANDARD_FLAGS, ...app.flags] as const
  const parsed = parseFlags(table, host.args)
  if (parsed.kind !== 'flags') {
    const usage = usageText(host.argv0, table, { 'feature-gates': knownGatesText(app.gates) })
    host.stderr.write(parsed.kind === 'help' ? usage : `${parsed.error}\n${usage}`)
    return { code: parsed.kind === 'help' ? 0 : 2 }
  }
  // The table begins with the standard flags, which the compiler does not see through the type parameter.
  const standard = parsed.flags as unknown as StandardFlags
  const { log, sink } = openAppLog(host, standard)
  using asked = scope()
  using ends = new DisposableStack()
  const atEnd = (close: () => void): void => ends.defer(close)
  let askedFor: Ending | undefined
  const forgetSignals = host.onSignal((signal) => {
    // There is nothing yet to drain or to release.
    askedFor ??= releasesOnExit(app, standard) ? { code: 0 } : { bySignal: signal }
    asked.abort(new CancelledError(`received ${signal}`))
  })
  try {
    checkLogging(standard)
    const notice = automaxprocsNotice(standard.values)
    if (notice !== undefined) log.info(notice)
    const metrics = new Metrics()
    registerProcessMetrics(metrics)
    const { clock } = host
    const { signal } = asked
    const { name } = app
    const started = await app.start({ name, host, flags: parsed.flags, clock, log, metrics, version, signal, atEnd })
    // Steps that did not wait have not heard of it.
    signal.throwIfAborted()
    forgetSignals()
    const settings = serveSettings(standard, started.release)
    return await serve({ ...host, ...started, settings, terminationMessage: lastWord(host, log) })
  } catch (error) {
    return endOf(error, { host, log, askedFor })
  } finally {
    forgetSignals()
    await sink.flush(FLUSH_MS)
  }
}

function openAppLog({ clock, stderr }: Host, { values }: StandardFlags): { log: Logger; sink: LogSink } {
  // A format that is refused, or comes with options that are, is refused in text.
  const format = values['logging-format'] === 'json' && loggingError(values) === undefined ? 'json' : 'text'
  return openLog({ format, verbosity: values.v, vmodule: values.vmodule, clock, stream: stderr })
}

function checkLogging({ values }: StandardFlags): void {
  const logging = loggingError(values)
  if (logging !== undefined) throw new StartError('LoggingConfiguration is invalid', { cause: new Error(logging) })
}

/** As the start would find out. Gates that it would refuse leave the default. */
function releasesOnExit({ gates }: Pick<App<FlagTable>, 'gates'>, { values }: StandardFlags): boolean {
  const resolved = resolveGates(gates, values['feature-gates'])
  return resolved.kind === 'refused' || resolved.gates.enabled('ReleaseLeaderElectionOnExit')
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

function lastWord(host: Host, log: Logger): (message: string) => Promise<void> {
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
  if (error instanceof Answered) {
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
