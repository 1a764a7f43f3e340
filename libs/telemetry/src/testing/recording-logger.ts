import { mergePairs, type Pairs } from '../line.ts'
import type { Logger } from '../logger.ts'

/** One line that the code under test has logged. `level` is the verbosity, or the severity of a warning or an error. */
export interface RecordedLine {
  readonly level: number | 'warning' | 'error' | 'fatal'
  readonly message: string
  /** The pairs of the line. The pairs of the context come first. */
  readonly pairs: Pairs
  readonly error?: unknown
}

/** A logger that only keeps its lines, for a test to read. */
export interface RecordingLogger extends Logger {
  /** All lines logged so far, including the lines of loggers that `with` has returned. */
  readonly lines: RecordedLine[]
}

/** Returns a logger for tests that keeps all lines of every level. */
export function recordingLogger(): RecordingLogger {
  return recorder([], {})
}

function recorder(lines: RecordedLine[], context: Pairs): RecordingLogger {
  const at = (level: number) => ({
    info: (message: string, pairs?: Pairs): void => {
      lines.push({ level, message, pairs: mergePairs(context, pairs) })
    },
    error: (error: unknown, message: string, pairs?: Pairs): void => {
      lines.push({ level, message, pairs: mergePairs(context, mergePairs({ err: error }, pairs)) })
    },
  })
  return {
    lines,
    ...at(0),
    warn: (message, pairs) => {
      lines.push({ level: 'warning', message, pairs: mergePairs(context, pairs) })
    },
    error: (error, message, pairs) => {
      lines.push({ level: 'error', message, pairs: mergePairs(context, pairs), error })
    },
    fatal: (message) => {
      lines.push({ level: 'fatal', message, pairs: {} })
    },
    v: at,
    with: (pairs) => recorder(lines, mergePairs(context, pairs)),
  }
}
