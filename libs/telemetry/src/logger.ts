import type { Clock } from '@csi-sidecars/base'
import { type CallSite, callSite, parseSite } from './caller.ts'
import { jsonFormat } from './json-format.ts'
import type { Format, LogLine } from './line.ts'
import { mergePairs, type Pairs } from './line.ts'
import { textFormat } from './text-format.ts'
import { type VmoduleRule, vmoduleLevels } from './vmodule.ts'

/** The log lines of one enabled level. */
export interface Verbose {
  info(message: string, pairs?: Pairs): void
  /** Logs an error that needs no attention: an info line of this level, with the error as the pair `err`. */
  error(error: unknown, message: string, pairs?: Pairs): void
}

/** A logger never throws and never blocks: a value that cannot be printed is replaced by a note about it. */
export interface Logger extends Verbose {
  /** Logs a warning at level 0: nothing failed, but an operator should look. `err` is a pair like any other. */
  warn(message: string, pairs?: Pairs): void
  /** Logs an error. Pass `undefined` if something is wrong but nothing was thrown. */
  error(error: unknown, message: string, pairs?: Pairs): void
  /** Logs the last line before the process ends. Does not end the process. */
  fatal(message: string): void
  /** Returns undefined if the level is off: `log.v(4)?.info(...)` then builds no objects. */
  v(level: number): Verbose | undefined
  /** Returns a logger that puts `pairs` before the pairs of each call. */
  with(pairs: Pairs): Logger
}

/** The format, the levels and the output of a logger. */
export interface LoggerOptions {
  readonly format: 'text' | 'json'
  /** Lines of this level and below are written. */
  readonly verbosity: number
  /** Levels for single files. Only the text format uses them. */
  readonly vmodule?: readonly VmoduleRule[]
  readonly clock: Clock
  /** Returns the ID of the current run. Each line of the run ends with this ID. Default: lines have no ID. */
  readonly traceId?: (() => string | undefined) | undefined
  /** Writes one whole record with its line break. Must not throw or block. */
  write(record: string): void
}

/**
 * The methods that the build puts in place of `info`, `v` and the other methods, so that no line needs a stack trace.
 * Their first argument is the call site: `log.infoAt('csi/connect.ts:45', ...)` replaces `log.info(...)`.
 */
interface VerboseAt {
  infoAt(site: string, message: string, pairs?: Pairs): void
  errorAt(site: string, error: unknown, message: string, pairs?: Pairs): void
}
interface LoggerAt extends VerboseAt {
  warnAt(site: string, message: string, pairs?: Pairs): void
  fatalAt(site: string, message: string): void
  vAt(site: string, level: number): Verbose | undefined
}

/** Creates a logger that writes klog lines (`text`) or lines in the JSON format of Kubernetes. */
export function createLogger(options: LoggerOptions): Logger {
  const { verbosity, vmodule = [] } = options
  const text = options.format === 'text'
  const output: Output = {
    verbosity,
    levels: text && vmodule.length > 0 ? vmoduleLevels(vmodule) : undefined,
    format: text ? textFormat(options.clock) : jsonFormat(options.clock),
    traceId: options.traceId ?? noRun,
    write: options.write,
  }
  return new ContextLogger(output, {})
}

const noRun = (): undefined => undefined

export const silentLogger: Logger & LoggerAt = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  v: () => undefined,
  infoAt: () => undefined,
  warnAt: () => undefined,
  errorAt: () => undefined,
  fatalAt: () => undefined,
  vAt: () => undefined,
  with: () => silentLogger,
}

interface Output {
  readonly verbosity: number
  /** Returns the level of a file by the vmodule rules. Undefined without rules. */
  readonly levels: ((file: string) => number) | undefined
  readonly format: Format
  readonly traceId: () => string | undefined
  write(record: string): void
}

class LevelLogger implements Verbose, VerboseAt {
  protected readonly output: Output
  protected readonly context: Pairs
  readonly #level: number

  constructor(output: Output, context: Pairs, level: number) {
    this.output = output
    this.context = context
    this.#level = level
  }

  info(message: string, pairs?: Pairs): void {
    this.#info(this.line(callSite(LevelLogger.prototype.info), message, pairs))
  }

  infoAt(site: string, message: string, pairs?: Pairs): void {
    this.#info(this.line(parseSite(site), message, pairs))
  }

  error(error: unknown, message: string, pairs?: Pairs): void {
    this.#info(this.line(callSite(LevelLogger.prototype.error), message, withError(error, pairs)))
  }

  errorAt(site: string, ...[error, message, pairs]: Parameters<Logger['error']>): void {
    this.#info(this.line(parseSite(site), message, withError(error, pairs)))
  }

  #info(line: LogLine): void {
    const { format, write } = this.output
    write(format.info(this.#level, line))
  }

  protected line(caller: CallSite, message: string, pairs: Pairs | undefined): LogLine {
    return { caller, message, context: this.context, pairs, traceId: this.output.traceId() }
  }
}

function withError(error: unknown, pairs: Pairs | undefined): Pairs | undefined {
  return error === undefined ? pairs : mergePairs({ err: error }, pairs)
}

class ContextLogger extends LevelLogger implements Logger, LoggerAt {
  /** The loggers that `v` has returned, by level, so that repeated calls allocate nothing. */
  readonly #levels: LevelLogger[] = []

  constructor(output: Output, context: Pairs) {
    super(output, context, 0)
  }

  warn(message: string, pairs?: Pairs): void {
    this.#warn(this.line(callSite(ContextLogger.prototype.warn), message, pairs))
  }

  warnAt(site: string, message: string, pairs?: Pairs): void {
    this.#warn(this.line(parseSite(site), message, pairs))
  }

  override error(error: unknown, message: string, pairs?: Pairs): void {
    this.#error(error, this.line(callSite(ContextLogger.prototype.error), message, pairs))
  }

  override errorAt(site: string, ...[error, message, pairs]: Parameters<Logger['error']>): void {
    this.#error(error, this.line(parseSite(site), message, pairs))
  }

  fatal(message: string): void {
    this.#fatal(callSite(ContextLogger.prototype.fatal), message)
  }

  fatalAt(site: string, message: string): void {
    this.#fatal(parseSite(site), message)
  }

  v(level: number): Verbose | undefined {
    return this.#at(level, () => callSite(ContextLogger.prototype.v))
  }

  vAt(site: string, level: number): Verbose | undefined {
    return this.#at(level, () => parseSite(site))
  }

  with(pairs: Pairs): Logger {
    return new ContextLogger(this.output, mergePairs(this.context, pairs))
  }

  #warn(line: LogLine): void {
    const { format, write } = this.output
    write(format.warning(line))
  }

  #error(error: unknown, line: LogLine): void {
    const { format, write } = this.output
    write(format.error(error, line))
  }

  #fatal(caller: CallSite, message: string): void {
    const { format, write } = this.output
    write(format.fatal(this.line(caller, message, undefined)))
  }

  #at(level: number, site: () => CallSite): LevelLogger | undefined {
    const { verbosity, levels } = this.output
    if (level > verbosity) {
      if (levels === undefined) return undefined
      if (level > levels(site().file)) return undefined
    }
    this.#levels[level] ??= new LevelLogger(this.output, this.context, level)
    return this.#levels[level]
  }
}
