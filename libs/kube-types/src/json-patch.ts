import type { Patch } from './patch.ts'

const FINALIZERS = '/metadata/finalizers'
const UID = '/metadata/uid'

/**
 * Adds one finalizer without touching others: a list written as a whole would bring back finalizers that another client
 * has removed since. `finalizers` is what the cache knows; a list that appeared meanwhile makes the test fail rather than
 * be overwritten. With `uid` the server refuses the patch for an object that was recreated under the name.
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

/** Removes one finalizer from where the cache saw it; undefined when it is not there. `uid` as above. */
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

function isUid(uid: string | undefined): readonly object[] {
  return uid === undefined ? [] : [{ op: 'test', path: UID, value: uid }]
}

function json(...body: readonly object[]): Patch {
  return { kind: 'json', body }
}
