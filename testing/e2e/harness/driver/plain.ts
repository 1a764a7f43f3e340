import type { Field, Shape } from '@csi-sidecars/csi-proto'
import type { Plain } from './messages.ts'

/** Returns a protobuf message as JSON. */
export function plain(message: unknown, shape: Shape): Plain {
  const out: Record<string, unknown> = {}
  for (const field of shape) {
    const value = plainField(field, propertyOf(message, field))
    if (value !== undefined) out[field.name] = value
  }
  return out
}

function propertyOf(message: unknown, { property, oneof }: Field): unknown {
  const container = oneof === undefined ? message : valueAt(message, oneof)
  if (oneof === undefined) return valueAt(container, property)
  return valueAt(container, '$case') === property ? valueAt(container, 'value') : undefined
}

function valueAt(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null
    ? Object.entries(object).find(([name]) => name === key)?.[1]
    : undefined
}

function plainField(field: Field, value: unknown): unknown {
  if (value === undefined || value === null) return undefined
  if (field.many === 'map') return Object.keys(value).length === 0 ? undefined : { ...(value as object) }
  if (field.many === 'list') {
    return Array.isArray(value) && value.length > 0 ? value.map((item) => plainValue(field, item)) : undefined
  }
  const one = plainValue(field, value)
  const unset = field.type.kind === 'scalar' && (one === '' || one === 0 || one === false || one === '0')
  return unset ? undefined : one
}

function plainValue({ type }: Field, value: unknown): unknown {
  switch (type.kind) {
    case 'message':
      return plain(value, type.shape())
    case 'enum':
      return Object.entries(type.values).find(([, number]) => number === value)?.[0] ?? value
    case 'scalar':
    case 'wrapper':
    case 'timestamp':
      return typeof value === 'bigint' ? String(value) : value
  }
}
