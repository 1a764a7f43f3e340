import type { Attributes, Span } from './span.ts'

/** The spans of one request, and who sends them. */
export interface SpanBatch {
  readonly resource: Attributes
  readonly scope: { readonly name: string; readonly version: string }
  readonly spans: readonly Span[]
}

/** The numbers of the protocol. */
export const SPAN_KINDS = { internal: 1, client: 3 } as const
export const STATUS_ERROR = 2
/** The W3C flag in the lowest byte of a span's flags. It is constant, because only sampled spans are sent. */
export const SAMPLED = 1

/** An ExportTraceServiceRequest in JSON: ids in hexadecimal digits, times as texts. */
export function toJson({ resource, scope, spans }: SpanBatch): Buffer {
  const scopeSpans = [{ scope, spans: spans.map(spanJson) }]
  return Buffer.from(
    JSON.stringify({ resourceSpans: [{ resource: { attributes: attributesJson(resource) }, scopeSpans }] }),
  )
}

function spanJson(span: Span): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    flags: SAMPLED,
    name: span.name,
    kind: SPAN_KINDS[span.kind],
    startTimeUnixNano: String(nanoseconds(span.startMs)),
    endTimeUnixNano: String(nanoseconds(span.endMs)),
    attributes: attributesJson(span.attributes),
    ...(span.error !== undefined && { status: { message: span.error, code: STATUS_ERROR } }),
  }
}

function attributesJson(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueJson(value) }))
}

function valueJson(value: Attributes[string]): object {
  switch (typeof value) {
    case 'string':
      return { stringValue: value }
    case 'boolean':
      return { boolValue: value }
    default:
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  }
}

/** Whole microseconds: more the clock does not know. */
export function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1000)) * 1000n
}
