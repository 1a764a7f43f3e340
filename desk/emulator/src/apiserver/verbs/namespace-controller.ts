import type { Clock } from '@csi-sidecars/base'
import { listAt, objectAt } from '../schema/json.ts'
import { KINDS, NAMESPACE } from '../schema/kinds.ts'
import type { KindCollection } from '../storage/collection.ts'
import type { ObjectRegistry } from '../storage/registry.ts'
import { remove } from './deletion.ts'

/**
 * Deletes the objects in terminating namespaces and then the namespaces, like kube-controller-manager. It acts in a
 * later turn of the event loop, so that clients first see that the namespace terminates.
 */
export function runNamespaceController(registry: ObjectRegistry): () => void {
  const { store, clock } = registry
  const inside = KINDS.filter((kind) => kind.namespaced).map((kind) => store.of(kind))
  const cancels = new Map<string, ReturnType<Clock['schedule']>>()
  const deleteIfEmpty = (name: string): void => {
    if (cancels.has(name)) return
    cancels.set(
      name,
      clock.schedule(0, () => {
        cancels.delete(name)
        finish(registry, inside, name)
      }),
    )
  }
  const unsubscribe = [
    store.of(NAMESPACE).subscribe(({ entry }) => {
      if (entry.object.metadata.deletionTimestamp !== undefined) deleteIfEmpty(entry.key)
    }),
    ...inside.map((collection) =>
      collection.subscribe(({ type, entry }) => {
        const { namespace = '' } = entry.object.metadata
        if (type === 'DELETED' && isEnding(registry, namespace)) deleteIfEmpty(namespace)
      }),
    ),
  ]
  return () => {
    for (const each of [...unsubscribe, ...cancels.values()]) each()
  }
}

function isEnding(registry: ObjectRegistry, name: string): boolean {
  return registry.store.of(NAMESPACE).get(name)?.object.metadata.deletionTimestamp !== undefined
}

function finish(registry: ObjectRegistry, inside: readonly KindCollection[], name: string): void {
  if (!isEnding(registry, name)) return
  let left = 0
  for (const collection of inside) {
    const { kind } = collection
    for (const key of [...collection.keysAfter(`${name}/`)]) {
      if (!key.startsWith(`${name}/`)) break
      const target = { kind, namespace: name, name: key.slice(name.length + 1), status: false }
      const { gone } = remove(registry, target, { dryRun: false })
      if (!gone) left += 1
    }
  }
  const space = registry.store.of(NAMESPACE).get(name)?.object
  if (left > 0 || space === undefined || (space.metadata.finalizers ?? []).length > 0) return
  const finalizers = listAt(space, 'spec', 'finalizers').filter((each) => each !== 'kubernetes')
  if (finalizers.length > 0) return
  registry.store.remove(NAMESPACE, name, { ...space, spec: { ...objectAt(space, 'spec'), finalizers } })
}
