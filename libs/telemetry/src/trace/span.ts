export type Attributes = Readonly<Record<string, string | number | boolean>>

/** A part of a run in progress. */
export interface ActiveSpan {
  /** For the headers of its requests, so that the other side continues the same trace. */
  readonly traceparent: string
  set(attributes: Attributes): void
  /** To be called once. With an error it has failed. */
  end(error?: unknown): void
}

/** What clients record their requests with. */
export interface Tracer {
  /** A request that is part of the run under way; undefined outside of any. */
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
