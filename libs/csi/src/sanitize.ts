import { unreachable } from '@csi-sidecars/base'
import { type Field, type FieldType, type Shape, Timestamp } from '@csi-sidecars/csi-proto'
import { STRIPPED_SECRET } from './secrets.ts'

/** The text for each field that the proto file marks as secret. */
const STRIPPED_JSON = JSON.stringify(STRIPPED_SECRET)

/**
 * Returns a message as one line of JSON without secrets: the set fields, sorted by their names in the proto file. The
 * decoder drops unknown fields, so a secret of a later CSI version is not printed.
 */
export function strippedJson(shape: Shape, message: object): string {
  const members: string[] = []
  for (const field of shape) {
    const value = contentOf(field, message)
    if (!isSet(field, value)) continue
    members.push(`"${field.name}":${field.secret ? STRIPPED_JSON : fieldJson(field, value)}`)
  }
  return `{${members.sort().join(',')}}`
}

function contentOf(field: Field, message: object): unknown {
  if (field.oneof === undefined) return Reflect.get(message, field.property)
  const union: unknown = Reflect.get(message, field.oneof)
  if (typeof union !== 'object' || union === null) return undefined
  return Reflect.get(union, '$case') === field.property ? Reflect.get(union, 'value') : undefined
}

/** Reports whether a field is set. As in proto3, a plain scalar of value 0 and an empty list or map are not set. */
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

/** Returns a text as JSON, in which characters that are dangerous in HTML are escaped, as in Go. */
function textJson(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
