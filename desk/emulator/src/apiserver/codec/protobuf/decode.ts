import { type Json, type JsonMap, setOwn } from '../../schema/json.ts'
import type { Scalar, Schema, SchemaField, SchemaFieldType } from '../../schema/schema.ts'
import { type Places, placesOf } from './places.ts'
import { fieldsOf, WireError } from './wire.ts'

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** The first bytes of each protobuf body of Kubernetes. */
export const PREFIX = Buffer.from('k8s\0')

/** A protobuf body: the type that it states, and the encoded object. */
interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly message: Buffer
}

/** Splits a protobuf body into its type and its object. Throws a `WireError` if the body is not protobuf. */
export function openEnvelope(body: Buffer): Envelope {
  if (!body.subarray(0, PREFIX.length).equals(PREFIX)) {
    const start = body.subarray(0, PREFIX.length).toString('hex')
    throw new WireError(
      `provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (${start})`,
    )
  }
  let typeMeta: readonly string[] = []
  let message: Buffer = Buffer.alloc(0)
  for (const { number, value } of fieldsOf(body.subarray(PREFIX.length))) {
    if (number === 1) typeMeta = textsOf(asBytes(value))
    if (number === 2) message = asBytes(value)
  }
  return { apiVersion: typeMeta[1] ?? '', kind: typeMeta[2] ?? '', message }
}

/** Returns the fields of a message that contains only texts, by field number. */
function textsOf(bytes: Buffer): readonly string[] {
  const texts: string[] = []
  for (const { number, value } of fieldsOf(bytes)) texts[number] = asBytes(value).toString('utf8')
  return texts
}

/** Decodes a protobuf message of a type into the JSON of the object. */
export function decodeMessage(schema: Schema, bytes: Buffer): JsonMap {
  const result: Record<string, Json | undefined> = {}
  readInto(result, placesOf(schema), bytes)
  return result
}

function readInto(result: Record<string, Json | undefined>, places: Places, bytes: Buffer): void {
  for (const { number, value } of fieldsOf(bytes)) {
    const place = places.get(number)
    if (place === undefined) continue
    if ('inline' in place) readInto(result, place.inline, asBytes(value))
    else add(result, place.field, value)
  }
}

function add(result: Record<string, Json | undefined>, { name, type }: SchemaField, value: bigint | Buffer): void {
  switch (type.kind) {
    case 'list':
      result[name] = [...((result[name] ?? []) as readonly Json[]), valueOfType(type.of, value)]
      return
    case 'map':
      result[name] = withEntry((result[name] ?? {}) as JsonMap, type.of, asBytes(value))
      return
    default:
      result[name] = valueOfType(type, value)
  }
}

function withEntry(map: JsonMap, type: SchemaFieldType, bytes: Buffer): JsonMap {
  let key = ''
  let item: Json = type.kind === 'scalar' && type.scalar === 'string' ? '' : null
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) key = asBytes(value).toString('utf8')
    if (number === 2) item = valueOfType(type, value)
  }
  const copy: Record<string, Json | undefined> = { ...map }
  setOwn(copy, key, item)
  return copy
}

function valueOfType(type: SchemaFieldType, value: bigint | Buffer): Json {
  switch (type.kind) {
    case 'object':
      return decodeMessage(type.schema, asBytes(value))
    case 'list':
      // Protobuf encodes a list inside a map as a message whose only field has the items.
      return [...fieldsOf(asBytes(value))].map((item) => valueOfType(type.of, item.value))
    case 'map':
      return withEntry({}, type.of, asBytes(value))
    case 'scalar':
      return scalarOf(type.scalar, value)
  }
}

function scalarOf(scalar: Scalar, value: bigint | Buffer): Json {
  switch (scalar) {
    case 'string':
      return asBytes(value).toString('utf8')
    case 'bytes':
      return asBytes(value).toString('base64')
    case 'bool':
      return asNumber(value) !== 0n
    case 'int':
    case 'long':
      return Number(BigInt.asIntN(64, asNumber(value)))
    case 'quantity':
      return textsOf(asBytes(value))[1] ?? '0'
    case 'intOrString':
      return intOrString(asBytes(value))
    case 'time':
    case 'microtime':
      return instantOf(asBytes(value), scalar === 'microtime')
    case 'any':
      return JSON.parse(textsOf(asBytes(value))[1] ?? 'null') as Json
  }
}

function intOrString(bytes: Buffer): Json {
  const fields = [...fieldsOf(bytes)]
  const text = fields.find(({ number }) => number === 3)
  if (fields.some(({ number, value }) => number === 1 && value === 1n))
    return asBytes(text?.value ?? Buffer.alloc(0)).toString()
  const int = fields.find(({ number }) => number === 2)
  return Number(BigInt.asIntN(64, asNumber(int?.value ?? 0n)))
}

/** Decodes a time from its seconds and nanoseconds. An empty message is an unset time, which is null in JSON. */
function instantOf(bytes: Buffer, micro: boolean): string | null {
  if (bytes.length === 0) return null
  let seconds = 0
  let nanos = 0
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) seconds = Number(BigInt.asIntN(64, asNumber(value)))
    if (number === 2) nanos = Number(asNumber(value))
  }
  const ms = seconds * 1000
  if (Number.isNaN(new Date(ms).getTime())) throw new WireError('proto: time out of range')
  const wholeSeconds = new Date(ms).toISOString().slice(0, 19)
  return micro ? `${wholeSeconds}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z` : `${wholeSeconds}Z`
}

function asBytes(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw new WireError('proto: wrong wireType = 0')
  return value
}

function asNumber(value: bigint | Buffer): bigint {
  if (typeof value !== 'bigint') throw new WireError('proto: wrong wireType = 2')
  return value
}
