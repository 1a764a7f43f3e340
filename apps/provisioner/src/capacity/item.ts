import type { CachedNode, Class, Registration } from '../caches/cluster.ts'
import type { Names } from '../caches/names.ts'

export type Segments = Readonly<Record<string, string>>

/** One CSIStorageCapacity that should exist. */
export interface Item {
  readonly key: string
  readonly className: string
  readonly segments: Segments
}

/** Equal for equal meanings: keys of the queue and of the index are compared by value. */
export function itemKey(className: string, segments: Segments): string {
  const pairs = Object.entries(segments).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([className, pairs])
}

/** Part of a key, for volumes in a topology. */
export function segmentsKey(segments: Segments): string {
  return itemKey('', segments)
}

/**
 * The segments of the cluster: the values of the registered keys on each node with all of these labels. A node without
 * keys is a segment without labels.
 */
export function segmentsOf(
  registrations: Iterable<Registration>,
  nodes: { get(name: string): CachedNode | undefined },
): readonly Segments[] {
  const found = new Map<string, Segments>()
  for (const { key: name, topologyKeys } of registrations) {
    const labels = nodes.get(name)?.labels
    if (topologyKeys === undefined || labels === undefined) continue
    if (!topologyKeys.every((key) => Object.hasOwn(labels, key))) continue
    const segments = Object.fromEntries(topologyKeys.map((key) => [key, labels[key] ?? '']))
    found.set(segmentsKey(segments), segments)
  }
  return [...found.values()]
}

/** Every class of the driver with every segment. Classes of the in-tree plugin do not count. */
export function itemsOf(
  classes: Iterable<Class>,
  segments: readonly Segments[],
  { names, immediate }: { readonly names: Names; readonly immediate: boolean },
): ReadonlyMap<string, Item> {
  const items = new Map<string, Item>()
  for (const { key: className, provisioner, waitsForConsumer } of classes) {
    if (provisioner !== names.driver || !(waitsForConsumer || immediate)) continue
    for (const each of segments) {
      const key = itemKey(className, each)
      items.set(key, { key, className, segments: each })
    }
  }
  return items
}
