import { createLogSink, type LogSink, type LogStream } from './log-sink.ts'
import { createLogger, type Logger, type LoggerOptions } from './logger.ts'

/** A logger that writes to `stream`, and the sink between them, to be flushed before the process ends. */
export function openLog(options: Omit<LoggerOptions, 'write'> & { readonly stream: LogStream }): {
  log: Logger
  sink: LogSink
} {
  const { stream, clock } = options
  const onDropped = (count: number): void => log.info('Dropped log lines because their reader is too slow', { count })
  const sink = createLogSink({ stream, clock, onDropped })
  const log = createLogger({ ...options, write: sink.write })
  return { log, sink }
}
