import type { Attributes, Tracer } from '../trace/span.ts'

/** The span of one request, with the attributes that were set so far. */
export interface RecordedSpan {
  readonly name: string
  readonly traceparent: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** The error with which the span ended. Undefined while the span runs. */
  readonly end: { readonly error: unknown } | undefined
}

/** A tracer for tests that keeps the spans of all requests. */
export class RecordingTracer implements Tracer {
  readonly spans: RecordedSpan[] = []
  /** True if requests belong to a run. Requests outside of a run are not recorded. */
  running = true

  begin(name: string, attributes: Attributes): ReturnType<Tracer['begin']> {
    if (!this.running) return undefined
    const spanId = String(this.spans.length + 1).padStart(16, '0')
    const traceparent = `00-${'1'.repeat(32)}-${spanId}-01`
    const recorded: { -readonly [K in keyof RecordedSpan]: RecordedSpan[K] } = {
      name,
      traceparent,
      attributes,
      end: undefined,
    }
    this.spans.push(recorded)
    return {
      traceparent,
      set: (more) => {
        recorded.attributes = { ...recorded.attributes, ...more }
      },
      end: (error) => {
        if (recorded.end !== undefined) throw new Error(`${name} has ended already`)
        recorded.end = { error }
      },
    }
  }
}
