import { Quantity, QuantityError } from '@csi-sidecars/kube-types'
import { isList, isObject, type Json, type JsonMap, setOwn } from './json.ts'
import type { Scalar, Schema, SchemaField, SchemaFieldType } from './schema.ts'

/** The error for a value that does not fit its field, with the message of Go's JSON decoder. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

interface Conformed {
  readonly value: JsonMap
  /** The paths of fields that the type does not have. These fields are dropped. */
  readonly unknown: readonly string[]
}

/** Returns an object as kube-apiserver stores it: without unknown fields and empty values. */
export function conform(schema: Schema, value: JsonMap): Conformed {
  const unknown: string[] = []
  return { value: objectOf(schema, value, { path: '', unknown, owner: schema.name }), unknown }
}

interface ValuePath {
  /** The path of the value, with dots and indexes. */
  readonly path: string
  readonly unknown: string[]
  /** The name of the type that contains the field, for messages. */
  readonly owner: string
}

function objectOf(schema: Schema, value: JsonMap, place: ValuePath): JsonMap {
  const result: Record<string, Json | undefined> = {}
  const { path, unknown } = place
  for (const field of schema.fields) {
    const received = Object.hasOwn(value, field.name) ? value[field.name] : undefined
    const kept =
      received === undefined || received === null
        ? absent(field)
        : fieldOf(field, received, { path: join(path, field.name), unknown, owner: schema.name })
    if (kept !== undefined) result[field.name] = kept
  }
  for (const key of Object.keys(value)) {
    if (!schema.byName.has(key) && value[key] !== undefined) unknown.push(join(path, key))
  }
  return result
}

function fieldOf(field: SchemaField, received: Json, place: ValuePath): Json | undefined {
  const value = decoded(field.type, received, place)
  if (field.pointer) return value
  // kube-apiserver returns an empty required list as null.
  if (field.always) return isList(value) && value.length === 0 ? null : value
  if (field.type.kind === 'object') return field.omitsZero && isEmpty(value) ? undefined : value
  return isZero(value) && !isStructure(field.type) ? undefined : value
}

/** Reports whether a type is a struct in Go, such as a time. An empty struct is stored, but an empty text is not. */
function isStructure(type: SchemaFieldType): boolean {
  return type.kind === 'scalar' && STRUCTURES.has(type.scalar)
}

const STRUCTURES: ReadonlySet<Scalar> = new Set(['quantity', 'time', 'microtime', 'intOrString'])

function isZero(value: Json | undefined): boolean {
  return value === '' || value === 0 || value === false || isEmpty(value)
}

function isEmpty(value: Json | undefined): boolean {
  if (isList(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}

/** Returns the value that is stored for a field that the writer did not set. */
function absent(field: SchemaField): Json | undefined {
  if (field.pointer) return field.always ? null : undefined
  if (field.type.kind === 'object') return field.omitsZero ? undefined : zeroOf(field.type.schema)
  if (field.omitsZero) return undefined
  if (field.always || isStructure(field.type)) return ZEROS[field.type.kind === 'scalar' ? field.type.scalar : 'any']
  return undefined
}

const ZEROS: Readonly<Record<Scalar, Json>> = {
  string: '',
  bool: false,
  int: 0,
  long: 0,
  quantity: '0',
  intOrString: 0,
  time: null,
  microtime: null,
  bytes: null,
  any: null,
}

const ZERO_OBJECTS = new WeakMap<Schema, JsonMap>()

function zeroOf(schema: Schema): JsonMap {
  const remembered = ZERO_OBJECTS.get(schema)
  if (remembered !== undefined) return remembered
  const made = Object.freeze(objectOf(schema, {}, { path: '', unknown: [], owner: schema.name }))
  ZERO_OBJECTS.set(schema, made)
  return made
}

function decoded(type: SchemaFieldType, received: Json, place: ValuePath): Json {
  switch (type.kind) {
    case 'object':
      if (!isObject(received)) throw mismatch(received, `v1.${type.schema.name}`, place)
      return objectOf(type.schema, received, place)
    case 'list':
      if (!isList(received)) throw mismatch(received, goType(type), place)
      return received.map((item, index) => itemOf(type.of, item, { ...place, path: `${place.path}[${index}]` }))
    case 'map': {
      if (!isObject(received)) throw mismatch(received, goType(type), place)
      const result: Record<string, Json | undefined> = {}
      for (const [key, item] of Object.entries(received)) {
        if (item === undefined) continue
        // Error messages contain paths without the keys of maps, as in Go.
        setOwn(result, key, itemOf(type.of, item, place))
      }
      return result
    }
    case 'scalar':
      return scalarOf(type.scalar, received, place)
  }
}

/** Decodes an item of a list or a map. A null becomes the empty value of the type. */
function itemOf(type: SchemaFieldType, received: Json, place: ValuePath): Json {
  if (received !== null) return decoded(type, received, place)
  return type.kind === 'object' ? zeroOf(type.schema) : ZEROS[type.kind === 'scalar' ? type.scalar : 'any']
}

function scalarOf(scalar: Scalar, received: Json, place: ValuePath): Json {
  if (!fits(scalar, received)) {
    if (scalar === 'quantity') throw new DecodeError(QUANTITY_WRONG)
    const isTime = scalar === 'time' || scalar === 'microtime'
    throw mismatch(received, isTime ? 'string' : (GO_TYPES[scalar] ?? scalar), place)
  }
  switch (scalar) {
    case 'quantity':
      return quantity(String(received))
    case 'time':
    case 'microtime':
      return received === '' ? null : instant(String(received), scalar === 'microtime')
    case 'bytes':
      return bytes(String(received))
    default:
      return received
  }
}

function fits(scalar: Scalar, received: Json): boolean {
  switch (scalar) {
    case 'any':
      return true
    case 'bool':
      return typeof received === 'boolean'
    case 'int':
      return Number.isInteger(received) && Number(received) < INT32_LIMIT && Number(received) >= -INT32_LIMIT
    case 'long':
      return Number.isInteger(received)
    case 'quantity':
    case 'intOrString':
      return typeof received === 'string' || typeof received === 'number'
    default:
      return typeof received === 'string'
  }
}

const INT32_LIMIT = 2 ** 31

const QUANTITY_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

function quantity(text: string): string {
  try {
    return Quantity.parse(text).toString()
  } catch (error) {
    if (error instanceof QuantityError) throw new DecodeError(error.message, { cause: error })
    throw error
  }
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/

const CANONICAL = '2006-01-02T15:04:05Z'.length
const CANONICAL_MICRO = '2006-01-02T15:04:05.000000Z'.length

/** Returns the time in UTC, in whole seconds or with exactly six digits after the point. */
function instant(text: string, micro: boolean): string {
  const match = RFC_3339.exec(text)
  const ms = match === null ? Number.NaN : Date.parse(text)
  if (Number.isNaN(ms) || (micro && match?.[1]?.length !== 6)) {
    const layout = micro ? '2006-01-02T15:04:05.000000Z07:00' : '2006-01-02T15:04:05Z07:00'
    throw new DecodeError(
      `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(text)} as "2006"`,
    )
  }
  if (text.length === (micro ? CANONICAL_MICRO : CANONICAL) && text.endsWith('Z')) return text
  const seconds = new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)
  return micro ? `${seconds}.${(match?.[1] ?? '').padEnd(6, '0').slice(0, 6)}Z` : `${seconds}Z`
}

function bytes(text: string): string {
  const decoded = Buffer.from(text, 'base64')
  const again = decoded.toString('base64')
  if (again === text) return text
  const at = [...text].findIndex((letter, index) => letter !== again[index])
  throw new DecodeError(`illegal base64 data at input byte ${Math.max(at, 0)}`)
}

function mismatch(received: Json, expectedType: string, place: ValuePath): DecodeError {
  const path = place.path.replace(/\[\d+\]/g, '')
  return new DecodeError(
    `json: cannot unmarshal ${shapeOf(received)} into Go struct field ${place.owner}.${path} of type ${expectedType}`,
  )
}

function shapeOf(received: Json): string {
  if (isList(received)) return 'array'
  if (typeof received === 'boolean') return 'bool'
  return typeof received === 'number' && !Number.isInteger(received) ? `number ${received}` : typeof received
}

function goType(type: SchemaFieldType): string {
  switch (type.kind) {
    case 'object':
      return `v1.${type.schema.name}`
    case 'list':
      return `[]${goType(type.of)}`
    case 'map':
      return `map[string]${goType(type.of)}`
    case 'scalar':
      return GO_TYPES[type.scalar] ?? type.scalar
  }
}

const GO_TYPES: Partial<Readonly<Record<Scalar, string>>> = {
  int: 'int32',
  long: 'int64',
  quantity: 'resource.Quantity',
  time: 'v1.Time',
  microtime: 'v1.MicroTime',
  bytes: '[]uint8',
  intOrString: 'intstr.IntOrString',
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
