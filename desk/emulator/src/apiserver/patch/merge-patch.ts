import { isObject, type Json, setOwn } from '../schema/json.ts'

/** Applies a merge patch (RFC 7396). The result shares its unchanged parts with the target. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const result: Record<string, Json | undefined> = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue
    if (value === null) delete result[key]
    else setOwn(result, key, applyMergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value))
  }
  return result
}
