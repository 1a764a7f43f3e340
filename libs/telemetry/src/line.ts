import type { CallSite } from './caller.ts'
import type { Pairs } from './pairs.ts'

/** What a log line is made of, apart from its time and level. */
export interface LogLine {
  readonly caller: CallSite
  readonly message: string
  readonly context: Pairs
  readonly pairs: Pairs | undefined
  /** The last of all pairs, so that lines begin as they do without it: the id of the run that the line is part of. */
  readonly traceId: string | undefined
}

export interface Format {
  info(level: number, line: LogLine): string
  warning(line: LogLine): string
  error(error: unknown, line: LogLine): string
  /** As klog's unstructured Fatal: the bare message, no pairs. */
  fatal(line: LogLine): string
}
