export { goFloat, goQuote } from './go-text.ts'
export { LoggedRef, objectRef, type Pairs, UNQUOTED } from './line.ts'
export { createLogSink, type LogSink, type LogSinkOptions, type LogStream, openLog } from './log-sink.ts'
export { createLogger, type Logger, type LoggerOptions, silentLogger, type Verbose } from './logger.ts'
export * from './metric-names.ts'
export {
  type Collect,
  type Counter,
  type Gauge,
  type Histogram,
  type HistogramSpec,
  METRICS_CONTENT_TYPE,
  type MetricSpec,
  Metrics,
  type ReadingSpec,
} from './metrics.ts'
export { type EventLoopWatch, processStartSeconds, registerProcessMetrics, watchEventLoop } from './process-metrics.ts'
export type { MetricLabels } from './series.ts'
export { newTraceId, type RunContext, RunContexts } from './trace/run-context.ts'
export type { ActiveSpan, Attributes, Tracer } from './trace/span.ts'
export type { VmoduleRule } from './vmodule.ts'
