/** A span that a receiver has read from a request. */
export interface ReceivedSpan {
  /** The ID in hexadecimal digits. */
  readonly traceId: string
  readonly spanId: string
  /** The ID of the parent span. Empty for the first span of a trace. */
  readonly parentSpanId: string
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startNano: bigint
  readonly endNano: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly statusCode: number
  readonly statusMessage: string
  /** The attributes of the program that sends the span. */
  readonly resource: Readonly<Record<string, unknown>>
  readonly scope: string
}

/** The error of a request that violates the protocol. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

/** The earliest accepted time in nanoseconds. A smaller number is in milliseconds or microseconds by mistake. */
const EARLIEST = 1_000_000_000_000_000_000n

/** Throws if the span violates the protocol or its data model. */
export function checkSpan(span: ReceivedSpan): void {
  const require = (holds: boolean, rule: string): void => {
    if (!holds) throw new ProtocolError(`${rule}: ${span.name} ${span.spanId}`)
  }
  require(isId(span.traceId, 32), 'a trace id of other than 16 bytes, or zero')
  require(isId(span.spanId, 16), 'a span id of other than 8 bytes, or zero')
  require(span.parentSpanId === '' || isId(span.parentSpanId, 16), 'a parent of other than 8 bytes, or zero')
  require(span.parentSpanId !== span.spanId, 'a span that is its own parent')
  require(span.name !== '', 'a span without a name')
  require(span.kind >= 1 && span.kind <= 5, 'a span without a kind')
  require(span.startNano > EARLIEST && span.endNano > EARLIEST, 'a time that is not in nanoseconds since 1970')
  require(span.endNano >= span.startNano, 'an end before the start')
  require(span.statusCode >= 0 && span.statusCode <= 2, 'no such status')
  require(span.statusMessage === '' || span.statusCode === 2, 'words for a status that is no error')
  require((span.flags & 1) === 1, 'a span that is not sampled')
  require(typeof span.resource['service.name'] === 'string', 'a resource without service.name')
}

function isId(text: string, digits: number): boolean {
  return text.length === digits && /^[0-9a-f]+$/.test(text) && /[^0]/.test(text)
}

/** Returns the attributes of a span or a resource. Throws if a key is empty or repeated, or a value is missing. */
export function attributeMap(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const map: Record<string, unknown> = {}
  for (const [key, value] of entries) {
    if (key === '' || Object.hasOwn(map, key)) throw new ProtocolError(`an attribute twice or without a key: "${key}"`)
    if (value === undefined) throw new ProtocolError(`an attribute without a value: ${key}`)
    map[key] = value
  }
  return map
}
