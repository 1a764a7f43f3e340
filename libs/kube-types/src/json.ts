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
