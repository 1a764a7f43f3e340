import { fieldOf, isJsonObject, type JsonObject, jsonEqual, keysOf } from './json.ts'

/** A change to one object, as the API server takes it. */
export interface Patch {
  readonly kind: 'merge' | 'json' | 'strategic'
  readonly body: unknown
}

export const PATCH_CONTENT_TYPES: Readonly<Record<Patch['kind'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
}

/**
 * The smallest RFC 7396 patch that turns `before` into `after`; `{}` when nothing differs.
 * Lists are replaced whole. A null in `after` means an absent field.
 */
export function mergePatchOf(before: object, after: object): JsonObject {
  return difference(before as JsonObject, after as JsonObject)
}

function difference(before: JsonObject, after: JsonObject): JsonObject {
  const changes: [string, unknown][] = []
  for (const key of keysOf(before, after)) {
    const old = fieldOf(before, key)
    const wanted = fieldOf(after, key) ?? undefined
    if (jsonEqual(old ?? undefined, wanted)) continue
    if (isJsonObject(old) && isJsonObject(wanted)) {
      const inner = difference(old, wanted)
      if (Object.keys(inner).length > 0) changes.push([key, inner])
    } else {
      changes.push([key, wanted ?? null])
    }
  }
  return Object.fromEntries(changes)
}
