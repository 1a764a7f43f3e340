import type { PlacedContainer, Workload } from '../workload.ts'

/** One operation of a JSON patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

export type JsonPatch = readonly PatchOperation[]

/** A patch, and the patch that restores the object as it was. */
export interface PatchPair {
  readonly forward: JsonPatch
  readonly back: JsonPatch
}

/** Returns the JSON pointer of a container. */
export function pathOf({ list, index }: Pick<PlacedContainer, 'list' | 'index'>): string {
  return `/spec/template/spec/${list}/${index}`
}

/** Returns the tests that refuse a patch of an object that has changed since it was read. */
export function unchangedTests({ version }: Workload): JsonPatch {
  if (version === undefined) return []
  return [
    { op: 'test', path: '/metadata/uid', value: version.uid },
    { op: 'test', path: '/metadata/generation', value: version.generation },
  ]
}

/** Returns the test that refuses a patch of a recreated object. */
export function sameObjectTests({ version }: Workload): JsonPatch {
  return version === undefined ? [] : [{ op: 'test', path: '/metadata/uid', value: version.uid }]
}

/** Returns the operation that gives a field this value. Undefined: the object has it already. */
export function setField(path: string, before: unknown, after: unknown): JsonPatch {
  if (before === undefined && after === undefined) return []
  if (after === undefined) return [{ op: 'remove', path }]
  return [{ op: before === undefined ? 'add' : 'replace', path, value: after }]
}
