import { BinaryReader } from '@bufbuild/protobuf/wire'
import { attributeMap, ProtocolError, type ReceivedSpan } from './otlp-span.ts'

/** The functions that read the fields of a message. The key `5/2` means field number 5 with wire type 2. */
type Readers = Readonly<Record<string, (reader: BinaryReader) => unknown>>

/** The field values of a protobuf message, in the order of the message. */
class Fields {
  readonly #message: string
  readonly #values: (readonly [field: number, value: unknown])[] = []

  /** Throws if the message contains a field that has no reader. */
  constructor(message: string, bytes: Uint8Array, readers: Readers) {
    this.#message = message
    const reader = new BinaryReader(bytes, strictText)
    while (reader.pos < reader.len) {
      const [field, wire] = reader.tag()
      const read = readers[`${field}/${wire}`]
      if (read === undefined) throw new ProtocolError(`${message} has no field ${field} of wire type ${wire}`)
      this.#values.push([field, read(reader)])
    }
  }

  all<T>(field: number): T[] {
    return this.#values.flatMap(([each, value]) => (each === field ? [value as T] : []))
  }

  one<T>(field: number, otherwise: T): T {
    const [first = otherwise, ...more] = this.all<T>(field)
    if (more.length > 0) throw new ProtocolError(`${this.#message} has field ${field} twice`)
    return first
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })
const strictText = (bytes: Uint8Array): string => decoder.decode(bytes)
const string = (reader: BinaryReader): string => reader.string()
const number = (reader: BinaryReader): number => reader.int32()
const id = (reader: BinaryReader): string => Buffer.from(reader.bytes()).toString('hex')
const nanoseconds = (reader: BinaryReader): bigint => BigInt(reader.fixed64())

/** Returns the spans of an ExportTraceServiceRequest in binary form. */
export function readProtobuf(body: Uint8Array): ReceivedSpan[] {
  const fields = new Fields('the request', body, { '1/2': (reader) => resourceSpans(reader.bytes()) })
  return fields.all<ReceivedSpan[]>(1).flat()
}

function resourceSpans(bytes: Uint8Array): ReceivedSpan[] {
  const fields = new Fields('ResourceSpans', bytes, {
    '1/2': (reader) => attributes(new Fields('Resource', reader.bytes(), { '1/2': keyValue, '2/0': number }), 1),
    '2/2': (reader) => scopeSpans(reader.bytes()),
  })
  const resource = fields.one<ReceivedSpan['resource']>(1, {})
  return fields.all<ReceivedSpan[]>(2).flatMap((spans) => spans.map((span) => ({ ...span, resource })))
}

function scopeSpans(bytes: Uint8Array): ReceivedSpan[] {
  const fields = new Fields('ScopeSpans', bytes, {
    '1/2': (reader) => {
      const scope = new Fields('InstrumentationScope', reader.bytes(), { '1/2': string, '2/2': string })
      return `${scope.one(1, '')} ${scope.one(2, '')}`
    },
    '2/2': (reader) => span(reader.bytes()),
  })
  const scope = fields.one(1, '')
  return fields.all<ReceivedSpan>(2).map((each) => ({ ...each, scope }))
}

function span(bytes: Uint8Array): ReceivedSpan {
  const fields = new Fields('Span', bytes, {
    '1/2': id,
    '2/2': id,
    '4/2': id,
    '5/2': string,
    '6/0': number,
    '7/1': nanoseconds,
    '8/1': nanoseconds,
    '9/2': keyValue,
    // The numbers of dropped attributes, events and links.
    '10/0': number,
    '12/0': number,
    '14/0': number,
    '15/2': (reader) => {
      const status = new Fields('Status', reader.bytes(), { '2/2': string, '3/0': number })
      return { message: status.one(2, ''), code: status.one(3, 0) }
    },
    '16/5': (reader) => reader.fixed32(),
  })
  const status = fields.one(15, { code: 0, message: '' })
  return {
    traceId: fields.one(1, ''),
    spanId: fields.one(2, ''),
    parentSpanId: fields.one(4, ''),
    flags: fields.one(16, 0),
    name: fields.one(5, ''),
    kind: fields.one(6, 0),
    startNano: fields.one(7, 0n),
    endNano: fields.one(8, 0n),
    attributes: attributes(fields, 9),
    statusCode: status.code,
    statusMessage: status.message,
    resource: {},
    scope: '',
  }
}

function attributes(fields: Fields, field: number): Record<string, unknown> {
  return attributeMap(fields.all<readonly [string, unknown]>(field))
}

function keyValue(reader: BinaryReader): readonly [string, unknown] {
  const fields = new Fields('KeyValue', reader.bytes(), { '1/2': string, '2/2': (inner) => anyValue(inner.bytes()) })
  return [fields.one(1, ''), fields.one<unknown>(2, undefined)]
}

function anyValue(bytes: Uint8Array): unknown {
  const fields = new Fields('AnyValue', bytes, {
    '1/2': string,
    '2/0': (reader) => reader.bool(),
    '3/0': (reader) => Number(reader.int64()),
    '4/1': (reader) => reader.double(),
  })
  const [value, ...more] = [1, 2, 3, 4].flatMap((field) => fields.all<unknown>(field))
  if (more.length > 0) throw new ProtocolError('an attribute with two values')
  return value
}
