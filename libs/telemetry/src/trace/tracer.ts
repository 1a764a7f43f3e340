import { type Clock, messageOf } from '@csi-sidecars/base'
import { TraceFlags } from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import { newSpanId, newTraceId, type RunContext, type RunContexts } from './run-context.ts'
import type { Sampler } from './settings.ts'
import {
  type ActiveSpan,
  type Attributes,
  type RunTrace,
  type Span,
  type SpanContext,
  type Tracer,
  traceparentOf,
} from './span.ts'

/** The data about a run that its trace records at the start. */
export interface RunStart {
  readonly name: string
  readonly attributes: Attributes
  /** The traceparent annotation of the run's object: the run joins that trace. */
  readonly traceparent: string | undefined
  /** How long the key of the run has waited for a worker. */
  readonly waitedMs: number
}

/** The maximum length of an error message in a span. The error messages of drivers have no limit. */
const MAX_TEXT_LENGTH = 4096

/** Everything that the tracer of runs needs. */
export interface RunTracerOptions {
  readonly runs: RunContexts
  readonly clock: Clock
  readonly sampler: Sampler
  /** Receives each span that has ended. Must neither throw nor block. */
  readonly record: (span: Span) => void
}

/** Starts a trace for each run, or continues the trace that an annotation of its object names. */
export class RunTracer implements Tracer {
  readonly #options: RunTracerOptions

  constructor(options: RunTracerOptions) {
    this.#options = options
  }

  begin(name: string, attributes: Attributes): ActiveSpan | undefined {
    return this.#options.runs.current?.trace?.begin(name, attributes)
  }

  start(run: RunStart): RunContext & { readonly trace: RunTrace } {
    const { clock, sampler, record } = this.#options
    const parent = run.traceparent === undefined ? undefined : parentOf(run.traceparent)
    const traceId = parent?.traceId ?? newTraceId(clock)
    const sampled = sampler(traceId, parent)
    const position = { traceId, spanId: newSpanId(clock), sampled }
    return {
      traceId,
      trace: sampled ? new RecordedRun(run, { position, parent, clock, record }) : unrecorded(position),
    }
  }
}

/** Returns the span that a header `traceparent` names. Undefined if the header is invalid. */
function parentOf(traceparent: string): SpanContext | undefined {
  const parent = parseTraceParent(traceparent)
  return parent === null ? undefined : { ...parent, sampled: (parent.traceFlags & TraceFlags.SAMPLED) !== 0 }
}

/** Returns a trace that records nothing. Its requests still carry the header `traceparent`. */
function unrecorded(position: SpanContext): RunTrace {
  const span: ActiveSpan = { traceparent: traceparentOf(position), set: () => undefined, end: () => undefined }
  return { begin: () => span, end: () => undefined }
}

interface RecordedRunOptions extends Pick<RunTracerOptions, 'clock' | 'record'> {
  readonly position: SpanContext
  readonly parent: SpanContext | undefined
}

class RecordedRun implements RunTrace {
  readonly #start: RunStart
  readonly #options: RecordedRunOptions
  /** The wall time minus the monotonic time at the start, so that a changed wall clock does not distort spans. */
  readonly #offsetMs: number
  readonly #startedMs: number
  #requests = 0

  constructor(start: RunStart, options: RecordedRunOptions) {
    const { clock } = options
    this.#start = start
    this.#options = options
    this.#offsetMs = clock.now() - clock.monotonic()
    this.#startedMs = this.#now()
  }

  begin(name: string, attributes: Attributes): ActiveSpan {
    this.#requests += 1
    const spanId = newSpanId(this.#options.clock)
    const startMs = this.#now()
    const all: Record<string, string | number | boolean> = { ...attributes }
    return {
      traceparent: traceparentOf({ ...this.#options.position, spanId }),
      set: (more) => void Object.assign(all, more),
      end: (error) => this.#record({ spanId, name, kind: 'client', startMs, attributes: all }, error),
    }
  }

  end(attributes: Attributes, error?: unknown): void {
    if (this.#requests === 0 && error === undefined) return
    const { name, waitedMs, attributes: startAttributes } = this.#start
    const { spanId } = this.#options.position
    const startMs = this.#startedMs - waitedMs
    const wait = {
      spanId: newSpanId(this.#options.clock),
      name: 'wait in queue',
      kind: 'internal',
      startMs,
      attributes: {},
    } as const
    this.#record({ ...wait, endMs: this.#startedMs })
    this.#record({ spanId, name, kind: 'internal', startMs, attributes: { ...startAttributes, ...attributes } }, error)
  }

  #record(
    span: Pick<Span, 'spanId' | 'name' | 'kind' | 'startMs' | 'attributes'> & { readonly endMs?: number },
    error?: unknown,
  ): void {
    const { position, parent, record } = this.#options
    const { traceId, spanId } = position
    const parentSpanId = span.spanId === spanId ? parent?.spanId : spanId
    record({
      endMs: this.#now(),
      ...span,
      traceId,
      parentSpanId,
      error: error === undefined ? undefined : messageOf(error).slice(0, MAX_TEXT_LENGTH).toWellFormed(),
    })
  }

  #now(): number {
    return this.#options.clock.monotonic() + this.#offsetMs
  }
}
