import { type Lease, rfc3339Micro } from '@csi-sidecars/kube-types'
import { FactCollection } from '../facts/collection.ts'
import { type ClusterFacts, KnownObjects, keyOf } from '../facts/facts.ts'
import { ApiReader } from '../facts/reader.ts'

/** The current time in all tests. */
export const NOW = Date.parse('2026-06-01T12:00:00Z')

/** Returns the timestamp `seconds` before `NOW`. */
export function ago(seconds: number): string {
  return new Date(NOW - seconds * 1000).toISOString().replace('.000Z', 'Z')
}

const NO_CLIENT = {
  get: () => Promise.reject(new Error('nothing is read')),
  list: () => {
    throw new Error('nothing is read')
  },
  discover: () => Promise.reject(new Error('nothing is read')),
}

/** Returns facts with only the given objects. */
export function factsWith(facts: Partial<ClusterFacts> = {}): ClusterFacts {
  const { signal } = new AbortController()
  return { ...new FactCollection(new ApiReader(NO_CLIENT, signal)).facts(NOW, 30_000), ...facts }
}

interface Named {
  readonly metadata?: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined
}

/** Returns a complete table of these objects, so that no other object of the kind exists. */
export function allOf<T extends Named>(...objects: readonly T[]): KnownObjects<T> {
  const table = new KnownObjects<T>()
  for (const object of objects) {
    const { namespace, name = '' } = object.metadata ?? {}
    table.set(keyOf({ namespace, name }), { kind: 'present', object })
  }
  table.complete = true
  return table
}

/** Returns a Lease that was renewed `renewed` seconds before `NOW`. */
export function lease(
  name: string,
  { holder = 'pod-a', renewed = 3 }: { holder?: string; renewed?: number } = {},
): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: 'storage', name },
    spec: { holderIdentity: holder, leaseDurationSeconds: 15, renewTime: rfc3339Micro(NOW - renewed * 1000) },
  }
}

export const ATTACHER_LEASE = 'external-attacher-leader-csi-example-com'
export const RESIZER_LEASE = 'external-resizer-csi-example-com'
