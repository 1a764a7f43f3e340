/**
 * A value of JSON. Objects of the API are stored in this form and frozen; a write creates new objects that share the
 * unchanged parts.
 */
export type Json = string | number | boolean | null | readonly Json[] | JsonMap
/** A JSON object. */
export interface JsonMap {
  readonly [key: string]: Json | undefined
}

/** The metadata of an object, as stored. */
export interface Meta extends JsonMap {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
}

/** An object of any kind, as stored. */
export interface ApiObject extends JsonMap {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: Meta
}

/** The fields to set in the metadata. A field whose value is undefined is removed. */
export type MetaChange = { readonly [K in keyof Meta]?: Meta[K] | undefined }

export function isObject(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isList(value: unknown): value is readonly Json[] {
  return Array.isArray(value)
}

/** Returns the value at a path of keys. Undefined if a key is missing. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let here = value
  for (const key of path) {
    if (!isObject(here) || !Object.hasOwn(here, key)) return undefined
    here = here[key]
  }
  return here
}

export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonMap | undefined {
  const found = at(value, ...path)
  return isObject(found) ? found : undefined
}

export function textAt(value: Json | undefined, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

export function listAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = at(value, ...path)
  return isList(found) ? found : []
}

/** Returns a copy with `key` set, or without `key` if the value is undefined. */
export function withField<T extends JsonMap>(object: T, key: string, value: Json | undefined): T {
  if (value === undefined) {
    const { [key]: _dropped, ...rest } = object
    return rest as T
  }
  return { ...object, [key]: value }
}

/** Returns the object with another spec. An absent spec counts as empty. */
export function withSpec<T extends JsonMap>(object: T, change: (spec: JsonMap) => JsonMap): T {
  return { ...object, spec: change(objectAt(object, 'spec') ?? {}) }
}

/** Returns the object with these fields set in its status. */
export function withStatus<T extends JsonMap>(object: T, fields: JsonMap): T {
  return { ...object, status: { ...objectAt(object, 'status'), ...fields } }
}

export function withMeta<T extends JsonMap>(object: T, change: MetaChange): T {
  const metadata: Record<string, Json | undefined> = { ...objectAt(object, 'metadata') }
  for (const [key, value] of Object.entries(change)) {
    if (value === undefined) delete metadata[key]
    else metadata[key] = value
  }
  return { ...object, metadata }
}

/** Reports whether two values are equal as JSON. The order of keys does not matter, and undefined means absent. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (isList(a)) return isList(b) && a.length === b.length && a.every((each, index) => sameJson(each, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  return (
    Object.keys(a).every((key) => sameJson(a[key], b[key])) && Object.keys(b).every((key) => sameJson(a[key], b[key]))
  )
}

/** Freezes a value with all its parts. Parts that are already frozen are skipped, which makes small changes cheap. */
export function freezeJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const each of Object.values(value)) freezeJson(each)
  return value
}

/** Sets a key of any name. An assignment to the key `__proto__` would replace the prototype instead. */
export function setOwn(object: Record<string, Json | undefined>, key: string, value: Json): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
}
