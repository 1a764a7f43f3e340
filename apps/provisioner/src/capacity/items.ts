import type { Cached, Reader } from '@csi-sidecars/informer'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { Metrics } from '@csi-sidecars/telemetry'
import type { CachedNode, Class, Registration } from '../caches/cluster.ts'
import type { Names } from '../caches/names.ts'
import type { Caches, TopologyCaches } from '../caches/open.ts'

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

export const OBJECTS_BY_ITEM = 'item'

/** The origin of the segments: the nodes of the cluster, or the only node of this process. */
export type SegmentSource = Pick<TopologyCaches, 'nodes' | 'registrations'> | { readonly fixed: Segments }

export interface ItemsOptions {
  readonly classes: Caches['classes']
  readonly segments: SegmentSource
  /** The existing objects, with the keys of their items. */
  readonly objects: { readonly store: Pick<Reader<Cached & { readonly item: string }>, 'byIndex' | 'values'> }
  readonly names: Names
  readonly immediate: boolean
}

/** The capacity objects that should exist, as of the last look at classes and nodes. */
export class CapacityItems {
  readonly #options: ItemsOptions
  #items: ReadonlyMap<string, Item> = new Map()

  constructor(options: ItemsOptions) {
    this.#options = options
  }

  get(key: string): Item | undefined {
    return this.#items.get(key)
  }

  keys(): Iterable<string> {
    return this.#items.keys()
  }

  /** Looks at classes and nodes. Returns the keys of items that are new or gone. */
  update(): readonly string[] {
    const { classes, segments, names, immediate } = this.#options
    const list =
      'fixed' in segments ? [segments.fixed] : segmentsOf(segments.registrations.store.values(), segments.nodes.store)
    const before = this.#items
    this.#items = itemsOf(classes.store.values(), list, { names, immediate })
    const added = [...this.#items.keys()].filter((key) => !before.has(key))
    return [...added, ...[...before.keys()].filter((key) => !this.#items.has(key))]
  }

  /** The items whose capacity a volume in its topology has changed. Undefined: the volume has none. */
  inTopologyOf({ spec }: PersistentVolume): readonly string[] | undefined {
    const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms
    if (terms == null) return undefined
    const keys = new Set(
      terms.map(({ matchExpressions }) =>
        segmentsKey(Object.fromEntries((matchExpressions ?? []).map(({ key, values }) => [key, values?.[0] ?? '']))),
      ),
    )
    return [...this.#items.values()].filter(({ segments }) => keys.has(segmentsKey(segments))).map(({ key }) => key)
  }

  ofClass(className: string): readonly string[] {
    return [...this.#items.values()].filter((item) => item.className === className).map(({ key }) => key)
  }

  /** Numbers of objects, as dashboards of the Go original read them. */
  register(metrics: Metrics): void {
    const { objects } = this.#options
    const obsolete = (): number => [...objects.store.values()].filter(({ item }) => !this.#items.has(item)).length
    const current = (): number =>
      [...this.#items.keys()].filter((key) => objects.store.byIndex(OBJECTS_BY_ITEM, key).length > 0).length
    const gauges = [
      ['desired_goal', 'that are supposed to be managed automatically', () => this.#items.size],
      ['desired_current', 'that exist and are supposed to be managed automatically', current],
      ['obsolete', 'that exist and will be deleted automatically', obsolete],
    ] as const
    for (const [name, which, read] of gauges) {
      const help = `Number of CSIStorageCapacity objects ${which}.`
      metrics.reading({ name: `csistoragecapacities_${name}`, help, type: 'gauge', read })
    }
  }
}
