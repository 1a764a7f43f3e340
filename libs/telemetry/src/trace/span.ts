export type Attributes = Readonly<Record<string, string | number | boolean>>

/** A part of a run in progress. */
export interface ActiveSpan {
  /** The header for the requests of the span, so that the other side continues the trace. */
  readonly traceparent: string
  set(attributes: Attributes): void
  /** Ends the span. Callers call it once. With an error the span has failed. */
  end(error?: unknown): void
}

/** Records the requests of a client. */
export interface Tracer {
  /** Begins the span of a request in the current run. Returns undefined outside of a run. */
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
  /** Milliseconds since 1970, with parts of them. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  /** Why it failed. */
  readonly error: string | undefined
}

/** The trace of a run in progress. */
export interface RunTrace {
  begin(name: string, attributes: Attributes): ActiveSpan
  /** A run without requests and without an error records no trace. */
  end(attributes: Attributes, error?: unknown): void
}
