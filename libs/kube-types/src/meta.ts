import type { V1ListMeta, V1ObjectMeta } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type ObjectMeta = Wire<V1ObjectMeta>
/** The metadata of a list, which the generated readers use. @public */
export type ListMeta = Wire<V1ListMeta>

/** The fields that every object of the API has. */
export interface KubeObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ObjectMeta | undefined
}

/** Names one object of a resource; the namespace is absent for a cluster's own. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}

/** RFC 3339 in whole seconds, as every timestamp of an object but a Lease's. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** RFC 3339 with six fraction digits, as in Leases: the API server refuses three. */
export function rfc3339Micro(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

const MAX_INT32 = 2 ** 31 - 1

/** A number that comes from outside, such as seconds or a count: undefined unless it is whole, not negative and an int32. */
export function wholeNumberOf(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INT32 ? Number(value) : undefined
}

const DECIMAL = /^(?:0|[1-9][0-9]*)$/

/**
 * Orders two resource versions of one resource: negative when `a` is the older.
 * They are whole numbers of any length; any other text is older than all of them.
 */
export function compareResourceVersions(a: string, b: string): number {
  const aIs = DECIMAL.test(a)
  const bIs = DECIMAL.test(b)
  if (!aIs || !bIs) return Number(aIs) - Number(bIs)
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** A JSON object, fields as they come. `undefined` counts as absent everywhere, since JSON drops it. */
export type JsonObject = { readonly [key: string]: unknown }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The field, only if it is the object's own: keys such as `constructor` are ordinary names here. */
export function fieldOf(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Equal as JSON: the order of keys does not matter, that of items does. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  for (const key of keysOf(a, b)) {
    if (!jsonEqual(fieldOf(a, key), fieldOf(b, key))) return false
  }
  return true
}

/** The keys of both objects, each once: the keys of the first in their order, then the other keys of the second. */
export function keysOf(a: JsonObject, b: JsonObject): Set<string> {
  return new Set([...Object.keys(a), ...Object.keys(b)])
}
