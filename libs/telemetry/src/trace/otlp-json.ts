import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { Attributes, Span } from './span.ts'

/** The spans of one export request, and the description of their sender. */
export interface SpanBatch {
  readonly resource: Attributes
  readonly scope: { readonly name: string; readonly version: string }
  readonly spans: readonly Span[]
}

/** The numbers of the span kinds in OTLP. */
export const SPAN_KINDS = { internal: 1, client: 3 } as const
export const STATUS_ERROR = 2
/** The W3C flag `sampled` in the flags of a span. It is constant, because only sampled spans are sent. */
export const SAMPLED = 1

/** Returns an ExportTraceServiceRequest in JSON, with IDs as hexadecimal digits and times as strings. */
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

/** Converts milliseconds to nanoseconds. Rounds to microseconds, because the clock is not more precise. */
export function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1000)) * 1000n
}

/** Returns an ExportTraceServiceRequest in binary form. The field numbers come from opentelemetry/proto/trace/v1. */
export function toProtobuf({ resource, scope, spans }: SpanBatch): Buffer {
  const writer = new BinaryWriter()
  message(writer, 1, () => {
    message(writer, 1, () => attributes(writer, 1, resource))
    message(writer, 2, () => {
      message(writer, 1, () => {
        text(writer, 1, scope.name)
        text(writer, 2, scope.version)
      })
      for (const each of spans) message(writer, 2, () => span(writer, each))
    })
  })
  return Buffer.from(writer.finish())
}

function span(writer: BinaryWriter, { traceId, spanId, parentSpanId, name, kind, ...rest }: Span): void {
  writer.tag(1, WIRE_BYTES).bytes(Buffer.from(traceId, 'hex'))
  writer.tag(2, WIRE_BYTES).bytes(Buffer.from(spanId, 'hex'))
  if (parentSpanId !== undefined) writer.tag(4, WIRE_BYTES).bytes(Buffer.from(parentSpanId, 'hex'))
  text(writer, 5, name)
  writer.tag(6, WIRE_VARINT).int32(SPAN_KINDS[kind])
  writer.tag(7, WIRE_64).fixed64(nanoseconds(rest.startMs))
  writer.tag(8, WIRE_64).fixed64(nanoseconds(rest.endMs))
  attributes(writer, 9, rest.attributes)
  const { error } = rest
  if (error !== undefined) {
    message(writer, 15, () => {
      text(writer, 2, error)
      writer.tag(3, WIRE_VARINT).int32(STATUS_ERROR)
    })
  }
  writer.tag(16, WIRE_32).fixed32(SAMPLED)
}

function attributes(writer: BinaryWriter, field: number, all: Attributes): void {
  for (const [key, value] of Object.entries(all)) {
    message(writer, field, () => {
      text(writer, 1, key)
      message(writer, 2, () => anyValue(writer, value))
    })
  }
}

function anyValue(writer: BinaryWriter, value: Attributes[string]): void {
  if (typeof value === 'string') text(writer, 1, value)
  else if (typeof value === 'boolean') writer.tag(2, WIRE_VARINT).bool(value)
  else if (Number.isSafeInteger(value)) writer.tag(3, WIRE_VARINT).int64(value)
  else writer.tag(4, WIRE_64).double(value)
}

const WIRE_VARINT = 0
const WIRE_64 = 1
const WIRE_BYTES = 2
const WIRE_32 = 5

function text(writer: BinaryWriter, field: number, value: string): void {
  writer.tag(field, WIRE_BYTES).string(value)
}

function message(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WIRE_BYTES).fork()
  write()
  writer.join()
}
