import { attributeMap, ProtocolError, type ReceivedSpan } from './otlp-span.ts'

type JsonObject = Readonly<Record<string, unknown>>

/** Returns the value as an object. Throws if it has members that are not in `memberNames`. */
function members(value: unknown, name: string, memberNames: readonly string[]): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProtocolError(`${name} is no object`)
  const strange = Object.keys(value).find((key) => !memberNames.includes(key))
  if (strange !== undefined) throw new ProtocolError(`${name} has no member ${strange}`)
  return value as JsonObject
}

function list(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ProtocolError(`${name} is no array`)
  return value
}

function text(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new ProtocolError(`${name} is no text`)
  return value
}

/** Reads a 64-bit number. OTLP sends it as a string, because JSON numbers have fewer digits. */
function long(value: unknown, name: string): bigint {
  const digits = text(value, name)
  if (!/^-?\d+$/.test(digits)) throw new ProtocolError(`${name} is no whole number`)
  return BigInt(digits)
}

/** Reads a whole number. OTLP sends enums as numbers, never as names. */
function short(value: unknown, name: string): number {
  if (!Number.isInteger(value)) throw new ProtocolError(`${name} is no whole number`)
  return value as number
}

/** Returns the spans of an ExportTraceServiceRequest in JSON. */
export function readJson(body: string): ReceivedSpan[] {
  const request = members(JSON.parse(body), 'the request', ['resourceSpans'])
  return list(request['resourceSpans'], 'resourceSpans').flatMap((each) => {
    const { resource, scopeSpans } = members(each, 'ResourceSpans', ['resource', 'scopeSpans'])
    const { attributes } = members(resource, 'Resource', ['attributes', ...DROPPED])
    const sender = readAttributes(attributes)
    return list(scopeSpans, 'scopeSpans').flatMap((inner) => readScopeSpans(inner, sender))
  })
}

function readScopeSpans(value: unknown, resource: JsonObject): ReceivedSpan[] {
  const { scope, spans } = members(value, 'ScopeSpans', ['scope', 'spans'])
  const { name, version } = members(scope, 'InstrumentationScope', ['name', 'version'])
  const scopeText = `${text(name, 'the name')} ${text(version, 'the version')}`
  return list(spans, 'spans').map((span) => ({ ...readSpan(span), resource, scope: scopeText }))
}

/** The numbers of dropped parts, which a sender may leave out. */
const DROPPED = ['droppedAttributesCount', 'droppedEventsCount', 'droppedLinksCount']
const SPAN_MEMBERS = [
  'traceId',
  'spanId',
  'parentSpanId',
  'flags',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'attributes',
  'status',
  'events',
  'links',
  ...DROPPED,
]

function readSpan(value: unknown): ReceivedSpan {
  const span = members(value, 'Span', SPAN_MEMBERS)
  const status = members(span['status'] ?? {}, 'Status', ['code', 'message'])
  return {
    traceId: text(span['traceId'], 'traceId'),
    spanId: text(span['spanId'], 'spanId'),
    parentSpanId: text(span['parentSpanId'] ?? '', 'parentSpanId'),
    flags: short(span['flags'], 'flags'),
    name: text(span['name'], 'name'),
    kind: short(span['kind'], 'kind'),
    startNano: long(span['startTimeUnixNano'], 'startTimeUnixNano'),
    endNano: long(span['endTimeUnixNano'], 'endTimeUnixNano'),
    attributes: readAttributes(span['attributes']),
    statusCode: short(status['code'] ?? 0, 'code'),
    statusMessage: text(status['message'] ?? '', 'message'),
    resource: {},
    scope: '',
  }
}

function readAttributes(value: unknown): Record<string, unknown> {
  return attributeMap(
    list(value, 'attributes').map((each) => {
      const attribute = members(each, 'KeyValue', ['key', 'value'])
      const key = text(attribute['key'], 'key')
      return [key, readValue(attribute['value'], key)]
    }),
  )
}

function readValue(value: unknown, key: string): unknown {
  const values = members(value, 'AnyValue', ['stringValue', 'boolValue', 'intValue', 'doubleValue'])
  const [[kind, inner] = [undefined, undefined], ...more] = Object.entries(values)
  if (more.length > 0) throw new ProtocolError(`an attribute with two values: ${key}`)
  if (kind === 'stringValue') return text(inner, key)
  // A sender may write a small whole number as a JSON number.
  if (kind === 'intValue') return typeof inner === 'number' ? short(inner, key) : Number(long(inner, key))
  return inner
}
