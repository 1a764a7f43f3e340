import type { Clock } from '@csi-sidecars/base'
import { resourceFromAttributes } from '@opentelemetry/resources'
import type { Logger } from '../logger.ts'
import { SPANS_DROPPED_TOTAL, SPANS_EXPORTED_TOTAL } from '../metric-names.ts'
import type { Metrics } from '../metrics.ts'
import { openExporter } from './otlp-exporter.ts'
import type { RunContexts } from './run-context.ts'
import { readSettings, type TraceSettings, TracingDisabled, VariableError } from './settings.ts'
import type { Attributes } from './span.ts'
import { SpanBuffer } from './span-buffer.ts'
import { RunTracer } from './tracer.ts'

/** The parts of the program that tracing needs. The settings come from the variables OTEL_*. */
export interface TracingOptions {
  readonly runs: RunContexts
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly env: Readonly<Record<string, string | undefined>>
  /** The program that sends the spans, unless the environment sets another name. */
  readonly program: { readonly name: string; readonly version: string; readonly hostName: string }
}

/** An open tracer. `close` sends the last spans and ends when `signal` is aborted. */
export interface Tracing {
  readonly tracer: RunTracer
  /** Sends the waiting spans, at most until the signal is aborted. */
  close(signal: AbortSignal): Promise<void>
}

/**
 * Opens tracing as the environment configures it. Returns undefined and logs the reason if the environment
 * disables tracing or has an invalid variable.
 */
export function openTracing(options: TracingOptions): Tracing | undefined {
  const { log, program, env } = options
  const defaultAttributes: Attributes = {
    'service.name': program.name,
    'service.version': program.version,
    'host.name': program.hostName,
    'telemetry.sdk.name': 'csi-sidecars',
    'telemetry.sdk.language': 'nodejs',
  }
  try {
    return open(options, readSettings(env, defaultAttributes))
  } catch (error) {
    if (!(error instanceof VariableError)) throw error
    const { variable } = error
    if (error instanceof TracingDisabled) log.info('Tracing is off', { variable })
    else log.error(error, 'Tracing is off', { variable })
    return undefined
  }
}

function open({ runs, clock, log, metrics, program }: TracingOptions, settings: TraceSettings): Tracing {
  const { url, encoding } = settings.export
  // The log omits the user name, the password and the query of the URL, which may contain secrets.
  const endpoint = url.origin + url.pathname
  log.info('Tracing is on', { endpoint, encoding, sampler: settings.samplerName })
  const exported = metrics.counter(SPANS_EXPORTED_TOTAL)
  const dropped = metrics.counter(SPANS_DROPPED_TOTAL)
  const buffer = new SpanBuffer({
    clock,
    log,
    batch: settings.batch,
    sender: {
      resource: resourceFromAttributes(settings.resource),
      scope: { name: 'csi-sidecars', version: program.version },
    },
    exporter: openExporter(settings.export),
    endpoint,
    exported,
    dropped,
    withoutRun: (work) => runs.withoutRun(work),
  })
  const tracer = new RunTracer({ runs, clock, sampler: settings.sampler, record: (span) => buffer.add(span) })
  return { tracer, close: (signal) => buffer.close(signal) }
}

export type { RunTracer }
