import { unreachable } from '@csi-sidecars/base'
import { type Field, type FieldType, type Shape, Timestamp } from '@csi-sidecars/csi-proto'
import { STRIPPED_SECRET } from './secrets.ts'

/** Replaces the content of every field that the proto marks as secret. */
const STRIPPED = JSON.stringify(STRIPPED_SECRET)

/**
 * A message as one line of JSON that holds no secret: the proto's field names in alphabetical order, only fields that
 * are set, enum values by name, 64-bit numbers in full. Unknown fields were dropped when the message was decoded, so
 * no secret of a later specification slips through.
 */
export function strippedJson(shape: Shape, message: object): string {
  const members: string[] = []
  for (const field of shape) {
    const value = contentOf(field, message)
    if (!isSet(field, value)) continue
    members.push(`"${field.name}":${field.secret ? STRIPPED : fieldJson(field, value)}`)
  }
  return `{${members.sort().join(',')}}`
}

function contentOf(field: Field, message: object): unknown {
  if (field.oneof === undefined) return Reflect.get(message, field.property)
  const union: unknown = Reflect.get(message, field.oneof)
  if (typeof union !== 'object' || union === null) return undefined
  return Reflect.get(union, '$case') === field.property ? Reflect.get(union, 'value') : undefined
}

/** proto3: a bare scalar is set when it is not zero, everything else when it is there at all. */
function isSet(field: Field, value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (field.many === 'list') return Array.isArray(value) && value.length > 0
  if (field.many === 'map') return Object.keys(value).length > 0
  if (field.oneof !== undefined) return true
  const { kind } = field.type
  return kind === 'scalar' || kind === 'enum' ? Boolean(value) : true
}

function fieldJson(field: Field, value: unknown): string {
  if (field.many === 'list' && Array.isArray(value)) {
    return `[${value.map((each) => singleJson(field.type, each)).join(',')}]`
  }
  if (field.many === 'map' && typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, each]) => `${textJson(key)}:${singleJson(field.type, each)}`)
    return `{${members.sort().join(',')}}`
  }
  return singleJson(field.type, value)
}

function singleJson(type: FieldType, value: unknown): string {
  switch (type.kind) {
    case 'scalar':
      return scalarJson(value)
    case 'wrapper':
      return value ? `{"value":${scalarJson(value)}}` : '{}'
    case 'timestamp':
      return typeof value === 'object' && value !== null ? timestampJson(value) : 'null'
    case 'enum': {
      const name = Object.entries(type.values).find(([, number]) => number === value)?.[0]
      return name === undefined ? scalarJson(value) : `"${name}"`
    }
    case 'message':
      return typeof value === 'object' && value !== null ? strippedJson(type.shape(), value) : 'null'
    default:
      return unreachable(type)
  }
}

function scalarJson(value: unknown): string {
  return typeof value === 'string' ? textJson(value) : String(value)
}

function timestampJson(value: object): string {
  const { seconds, nanos } = Timestamp.fromPartial(value)
  const members = [...(nanos === 0 ? [] : [`"nanos":${nanos}`]), ...(seconds === 0n ? [] : [`"seconds":${seconds}`])]
  return `{${members.join(',')}}`
}

/** Go's encoder also escapes characters that are dangerous in HTML. */
function textJson(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
