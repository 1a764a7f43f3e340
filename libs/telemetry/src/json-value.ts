import { isError, messageOf } from '@csi-sidecars/base'

/**
 * A value of a log line as compact JSON. Never throws: a value without a representation becomes a note.
 * Errors are their message, maps are objects, whole numbers of any size keep their digits.
 */
export function jsonValue(value: unknown): string {
  try {
    return JSON.stringify(value, plain) ?? 'null'
  } catch (error) {
    return JSON.stringify(`<internal error: ${messageOf(error)}>`)
  }
}

function plain(_key: string, value: unknown): unknown {
  switch (typeof value) {
    case 'bigint':
      return exactNumber(value)
    case 'function':
    case 'symbol':
      return String(value)
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'object':
      if (isError(value)) return messageOf(value)
      if (value instanceof Map) return Object.fromEntries(value)
      if (value instanceof Set) return [...value]
      if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
      return value
    default:
      return value
  }
}

/** TypeScript's library does not declare JSON.rawJSON yet. */
const rawJson: unknown = Reflect.get(JSON, 'rawJSON')

function exactNumber(value: bigint): unknown {
  return typeof rawJson === 'function' ? rawJson(String(value)) : String(value)
}
