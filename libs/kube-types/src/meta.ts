import type { V1ListMeta, V1ObjectMeta } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type ObjectMeta = Wire<V1ObjectMeta>
/** The metadata of a list. Only generated code uses this type. @public */
export type ListMeta = Wire<V1ListMeta>

/** The fields that every object of the API has. */
export interface KubeObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ObjectMeta | undefined
}

/** The name of one object of a resource. `namespace` is undefined for objects without a namespace. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}

/** A JSON object. Fields that are `undefined` count as absent, because JSON drops them. */
export type JsonObject = { readonly [key: string]: unknown }

/** Returns the reference of an object whose key is `namespace/name`. */
export function namespacedRef(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Returns the reference of an object, from its key: `namespace/name`, or the name alone. */
export function refOf(key: string): { readonly name: string; readonly namespace?: string } {
  return key.includes('/') ? namespacedRef(key) : { name: key }
}

/** Returns a time as RFC 3339 in whole seconds, as in all objects except Leases. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Returns a time as RFC 3339 with six fraction digits, as in Leases. The API server refuses three digits there. */
export function rfc3339Micro(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

const MAX_INT32 = 2 ** 31 - 1

/** Returns an untrusted value if it is a whole number from 0 to the largest int32, and undefined otherwise. */
export function wholeNumberOf(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INT32 ? Number(value) : undefined
}

const DECIMAL = /^(?:0|[1-9][0-9]*)$/

/**
 * Compares two versions of one resource as whole numbers of any length. Negative if `a` is older. A text that is no
 * whole number counts as the oldest.
 */
export function compareResourceVersions(a: string, b: string): number {
  const aIs = DECIMAL.test(a)
  const bIs = DECIMAL.test(b)
  if (!aIs || !bIs) return Number(aIs) - Number(bIs)
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Reports whether a value is an object with named fields: not null, and no array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a field of the object, and never an inherited property such as `constructor`. */
export function fieldOf(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Reports whether two values are equal as JSON: the order of keys does not matter, but the order of items does. */
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

/** Returns the keys of both objects, each once: the keys of `a` in their order, then the other keys of `b`. */
export function keysOf(a: JsonObject, b: JsonObject): Set<string> {
  return new Set([...Object.keys(a), ...Object.keys(b)])
}
