export type Attributes = Readonly<Record<string, string | number | boolean>>

/** A span that has begun. */
export interface ActiveSpan {
  /** The header `traceparent` of the request, so that the server continues the trace. */
  readonly traceparent: string
  set(attributes: Attributes): void
  /** Ends the span. Call it once. A span with an error counts as failed. */
  end(error?: unknown): void
}

/** Records the requests of a client. */
export interface Tracer {
  /** Begins the span of a request in the current run. Undefined outside of runs. */
  begin(name: string, attributes: Attributes): ActiveSpan | undefined
}

export type SpanKind = 'internal' | 'client'

/** A span that has ended. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: SpanKind
  /** The start of the span in milliseconds since 1970, with decimals. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  /** The error message of a failed span. */
  readonly error: string | undefined
}

/** The trace of a run in progress. */
export interface RunTrace {
  begin(name: string, attributes: Attributes): ActiveSpan
  /** Ends the trace. A run without requests and without an error is not recorded. */
  end(attributes: Attributes, error?: unknown): void
}

/** The place of a span in a trace, as the W3C's header `traceparent` carries it. */
export interface SpanContext {
  /** The ID of the trace: 32 hexadecimal digits in lower case. */
  readonly traceId: string
  /** The ID of the span: 16 hexadecimal digits in lower case. */
  readonly spanId: string
  readonly sampled: boolean
}

export function traceparentOf({ traceId, spanId, sampled }: SpanContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}
