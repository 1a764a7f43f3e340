import type { Clock } from '@csi-sidecars/base'
import { createLogger, type Logger, type LoggerOptions } from './logger.ts'

/** Takes log records and writes them to a stream that may be slow, stuck or closed. */
export interface LogSink {
  /** Writes a record. Does not throw or block: if a record does not fit into the buffer, it is dropped and counted. */
  write(record: string): void
  /** Resolves when all records are written, the stream is closed, or `ms` have passed. */
  flush(ms: number): Promise<void>
  /** The number of records dropped so far. */
  readonly droppedCount: number
}

/** The part of a Writable that the sink needs, for example `process.stderr`. */
export interface LogStream {
  /** The bytes that the stream has accepted but not passed to the operating system. */
  readonly writableLength: number
  /** Writes a text. Calls `done` when all bytes until then are written or failed. */
  write(text: string, done?: () => void): boolean
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** The destination of log lines, and the number of bytes that may wait. */
export interface LogSinkOptions {
  readonly stream: LogStream
  readonly clock: Clock
  /** The maximum number of bytes that wait for a slow reader. Default: 1 MiB. */
  readonly maxBufferedBytes?: number
  /** Called with the number of dropped records, before the next record that fits is written. It may write records. */
  readonly onDropped?: (records: number) => void
}

/** Creates a logger that writes to `stream` through a sink. Flush the sink before the process ends. */
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

const MAX_BUFFERED_BYTES = 1024 * 1024

/**
 * Creates a sink. After the reader disconnects (EPIPE), it drops all records silently. A stuck reader costs only the
 * records that do not fit into the buffer.
 */
export function createLogSink(options: LogSinkOptions): LogSink {
  const { stream, clock, maxBufferedBytes = MAX_BUFFERED_BYTES, onDropped } = options
  let isBroken = false
  let droppedCount = 0
  let reportedCount = 0
  stream.on('error', () => {
    isBroken = true
  })
  const write = (record: string): void => {
    if (isBroken || stream.writableLength > maxBufferedBytes) {
      droppedCount += 1
      return
    }
    if (droppedCount > reportedCount) {
      const records = droppedCount - reportedCount
      reportedCount = droppedCount
      onDropped?.(records)
    }
    stream.write(record)
  }
  const flush = (ms: number): Promise<void> => {
    if (isBroken || stream.writableLength === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = clock.schedule(ms, resolve)
      stream.write('', () => {
        cancel()
        resolve()
      })
    })
  }
  return {
    write,
    flush,
    get droppedCount() {
      return droppedCount
    },
  }
}
