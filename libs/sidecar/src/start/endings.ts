import { CancelledError, messageOf, scope } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Host, ProcessEnding, StartContext, StopSignal } from '../process.ts'
import type { ServeOptions } from '../serve/serve.ts'
import { FATAL, PrintAndExit, StartError } from '../start-error.ts'
import type { Command, StartPlan } from './program.ts'

/** Handles signals during the start: a signal ends the start. */
export interface EarlyStop extends Disposable {
  readonly signal: AbortSignal
  /** Returns the ending that a signal during the start has requested. */
  askedFor(): ProcessEnding | undefined
  /** Passes all later signals to the listener. */
  onSignal(listener: (signal: StopSignal) => void): void
}

/** Ends the process after an error that no code catches, because its state is unknown then. */
export interface UncaughtErrors extends Disposable {
  /** Resolves after an uncaught error was logged and written as the termination message. */
  readonly ending: Promise<ProcessEnding>
}

/** Prints the help, or the reason why the command line is refused. */
export function refuse(command: Exclude<Command, { kind: 'start' }>, { stderr }: Host): ProcessEnding {
  if (command.kind === 'help') {
    stderr.write(command.usage)
    return { code: 0 }
  }
  const { error, nearest, usage } = command
  const hint = nearest === undefined ? '' : `; the nearest flag is --${nearest}`
  // The error is printed first, as in Go, and again last, because a termination message has only the last lines.
  stderr.write(`${error}\n${usage}\n${error}${hint}\n`)
  return { code: 2 }
}

/** Listens to signals for the whole life of the process. Replacing the listener could lose a signal. */
export function earlyStop(host: Host, release: boolean): EarlyStop {
  const asked = scope()
  let askedFor: ProcessEnding | undefined
  let receive = (signal: StopSignal): void => {
    // The start ends at once, because there is no work to drain and no lease to release yet.
    askedFor ??= release ? { code: 0 } : { bySignal: signal }
    asked.abort(new CancelledError(`received ${signal}`))
  }
  const forgetSignals = host.onSignal((signal) => receive(signal))
  return {
    signal: asked.signal,
    askedFor: () => askedFor,
    onSignal: (listener) => {
      receive = listener
    },
    [Symbol.dispose]: () => {
      forgetSignals()
      asked.dispose()
    },
  }
}

export function serveSettings({ standard, table }: StartPlan, release: boolean): ServeOptions['settings'] {
  const { values } = standard
  return {
    onLeaseLoss: values['on-lease-loss'],
    onDriverLoss: values['on-driver-loss'],
    driverGraceMs: values['driver-grace-period'],
    drainMs: values['drain-timeout'],
    releasesLease: release,
    exitsWithZeroOnSigint: table.exitsWithZeroOnSigint && !values['leader-election'],
  }
}

export function terminationMessage(host: Host, log: Logger): (message: string) => Promise<void> {
  return (message) =>
    host
      .writeTerminationMessage(message)
      .catch((error: unknown) => log.error(error, 'The termination message could not be written'))
}

export function uncaughtErrors(host: Host, log: Logger): UncaughtErrors {
  const { promise, resolve } = Promise.withResolvers<ProcessEnding>()
  const forget = host.onUncaughtError((error) => {
    log.error(error, 'Unexpected failure')
    const written = terminationMessage(host, log)(`Unexpected failure: ${messageOf(error)}`)
    void written.finally(() => resolve({ code: 1 }))
  })
  return { ending: promise, [Symbol.dispose]: forget }
}

/**
 * Returns how the process ends after an error. `askedFor` is the ending that a signal during the start has requested.
 */
export function endOf(
  error: unknown,
  askedFor: ProcessEnding | undefined,
  { host, log }: Pick<StartContext, 'host' | 'log'>,
): ProcessEnding {
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

/** Logs the `endingNotice` of each app without controllers, if it shares the process with controllers. */
export function logLastLines({ sidecars, driverApps }: StartPlan, log: Logger): void {
  if (sidecars.length === 0) return
  for (const { app } of driverApps) log.error(undefined, app.endingNotice)
}
