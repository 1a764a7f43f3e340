import { fieldOf, isJsonObject, type JsonObject, jsonEqual, type KubeObject, keysOf } from './meta.ts'

/** A change to one object, in a form that the API server accepts. */
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
 * Returns the smallest RFC 7396 patch that turns `before` into `after`. Lists are replaced as a whole. A null in
 * `after` counts as an absent field.
 */
export function mergePatchOf(before: object, after: object): JsonObject {
  return difference(before as JsonObject, after as JsonObject)
}

function difference(before: JsonObject, after: JsonObject): JsonObject {
  const changes: [string, unknown][] = []
  for (const key of keysOf(before, after)) {
    const old = fieldOf(before, key)
    const desired = fieldOf(after, key) ?? undefined
    if (jsonEqual(old ?? undefined, desired)) continue
    if (isJsonObject(old) && isJsonObject(desired)) {
      const inner = difference(old, desired)
      if (Object.keys(inner).length > 0) changes.push([key, inner])
    } else {
      changes.push([key, desired ?? null])
    }
  }
  return Object.fromEntries(changes)
}

const FINALIZERS = '/metadata/finalizers'
const UID = '/metadata/uid'

/**
 * Returns a patch that adds one finalizer and keeps all others.
 *
 * Guarantees: the patch never restores a finalizer that another client has removed. With `uid` the server refuses it
 * for a recreated object.
 *
 * Errors: the `test` operation fails if `finalizers` is absent or empty, although the object has finalizers.
 */
export function addFinalizerPatch(finalizers: readonly string[] | undefined, name: string, uid?: string): Patch {
  const same = isUid(uid)
  if (finalizers === undefined || finalizers === null) {
    return json(...same, { op: 'test', path: FINALIZERS, value: null }, { op: 'add', path: FINALIZERS, value: [name] })
  }
  if (finalizers.length === 0) {
    return json(
      ...same,
      { op: 'test', path: FINALIZERS, value: [] },
      { op: 'replace', path: FINALIZERS, value: [name] },
    )
  }
  return json(...same, { op: 'add', path: `${FINALIZERS}/-`, value: name })
}

/**
 * Returns a patch that removes one finalizer at its cached index, or undefined if the cache has no such finalizer. With
 * `uid` the server refuses the patch for a recreated object.
 */
export function removeFinalizerPatch(
  finalizers: readonly string[] | undefined,
  name: string,
  uid?: string,
): Patch | undefined {
  const index = finalizers?.indexOf(name) ?? -1
  if (index === -1) return undefined
  const path = `${FINALIZERS}/${index}`
  return json(...isUid(uid), { op: 'test', path, value: name }, { op: 'remove', path })
}

/** Returns the object with the finalizer, for a PUT. Returns the same object if it has the finalizer. */
export function withFinalizer<T extends KubeObject>(object: T, name: string): T {
  const finalizers = object.metadata?.finalizers ?? []
  if (finalizers.includes(name)) return object
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, name] } }
}

/** Returns the object without the finalizer, for a PUT. Returns the same object if it lacks the finalizer. */
export function withoutFinalizer<T extends KubeObject>(object: T, name: string): T {
  const finalizers = object.metadata?.finalizers ?? []
  if (!finalizers.includes(name)) return object
  return { ...object, metadata: { ...object.metadata, finalizers: finalizers.filter((each) => each !== name) } }
}

function isUid(uid: string | undefined): readonly object[] {
  return uid === undefined ? [] : [{ op: 'test', path: UID, value: uid }]
}

function json(...body: readonly object[]): Patch {
  return { kind: 'json', body }
}
