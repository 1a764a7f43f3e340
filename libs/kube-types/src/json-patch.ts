import type { Patch } from './patch.ts'

const FINALIZERS = '/metadata/finalizers'

/**
 * Adds one finalizer without touching others': a list written whole would bring back what somebody has removed since.
 * `finalizers` is what the cache knows; a list that appeared meanwhile makes the test fail rather than be overwritten.
 */
export function addFinalizerPatch(finalizers: readonly string[] | undefined, name: string): Patch {
  if (finalizers === undefined || finalizers === null) {
    return json({ op: 'test', path: FINALIZERS, value: null }, { op: 'add', path: FINALIZERS, value: [name] })
  }
  if (finalizers.length === 0) {
    return json({ op: 'test', path: FINALIZERS, value: [] }, { op: 'replace', path: FINALIZERS, value: [name] })
  }
  return json({ op: 'add', path: `${FINALIZERS}/-`, value: name })
}

/** Removes one finalizer from where the cache saw it; undefined when it is not there. */
export function removeFinalizerPatch(finalizers: readonly string[] | undefined, name: string): Patch | undefined {
  const index = finalizers?.indexOf(name) ?? -1
  if (index === -1) return undefined
  const path = `${FINALIZERS}/${index}`
  return json({ op: 'test', path, value: name }, { op: 'remove', path })
}

function json(...body: readonly object[]): Patch {
  return { kind: 'json', body }
}
