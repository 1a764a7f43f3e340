import type { Cached, Reader } from '@csi-sidecars/informer'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { Metrics } from '@csi-sidecars/telemetry'
import type { Class, ProvisionerNode, Registration } from '../caches/cluster.ts'
import type { DriverNames } from '../caches/names.ts'
import type { ProvisionerCaches, TopologyCaches } from '../caches/open.ts'

export type Segments = Readonly<Record<string, string>>

/** One CSIStorageCapacity that should exist. */
export interface CapacityItem {
  readonly key: string
  readonly className: string
  readonly segments: Segments
}

/** The source of topology segments: the nodes of the cluster, or the one node of `--node-deployment`. */
export type SegmentSource = Pick<TopologyCaches, 'nodes' | 'registrations'> | { readonly fixed: Segments }

/** The classes and topologies from which the set of capacity items is computed. */
export interface ItemsOptions {
  readonly classes: ProvisionerCaches['classes']
  readonly segments: SegmentSource
  /** The existing CSIStorageCapacity objects, each with the key of its class and topology segment in `itemKey`. */
  readonly objects: { readonly store: Pick<Reader<Cached & { readonly itemKey: string }>, 'byIndex' | 'values'> }
  readonly names: DriverNames
  readonly immediate: boolean
}

/** Returns the key of a StorageClass and a topology segment. The order of the segment's labels does not matter. */
export function itemKey(className: string, segments: Segments): string {
  const pairs = Object.entries(segments).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([className, pairs])
}

/** Returns the key of a topology segment without a StorageClass, to find the segment of a volume. */
export function segmentsKey(segments: Segments): string {
  return itemKey('', segments)
}

/**
 * Returns the distinct topology segments of the nodes that have labels for all topology keys of the driver. Returns one
 * segment without labels for a driver without topology keys.
 */
export function segmentsOf(
  registrations: Iterable<Registration>,
  nodes: { get(name: string): ProvisionerNode | undefined },
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

/** Combines each StorageClass of the driver with each segment. Leaves out classes of a migrated in-tree plugin. */
export function itemsOf(
  classes: Iterable<Class>,
  segments: readonly Segments[],
  { names, immediate }: { readonly names: DriverNames; readonly immediate: boolean },
): ReadonlyMap<string, CapacityItem> {
  const items = new Map<string, CapacityItem>()
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

/** The CSIStorageCapacity objects that should exist. `updateItems` computes them from the current classes and nodes. */
export class CapacityItems {
  readonly #options: ItemsOptions
  #items: ReadonlyMap<string, CapacityItem> = new Map()
  /** False before the first update. The objects of a standby process or of its predecessor then do not count. */
  #isKnown = false

  constructor(options: ItemsOptions) {
    this.#options = options
  }

  get(key: string): CapacityItem | undefined {
    return this.#items.get(key)
  }

  keys(): Iterable<string> {
    return this.#items.keys()
  }

  /** Computes the expected CSIStorageCapacity objects. Returns the keys of added and removed objects. */
  updateItems(): readonly string[] {
    const { classes, segments, names, immediate } = this.#options
    const list =
      'fixed' in segments ? [segments.fixed] : segmentsOf(segments.registrations.store.values(), segments.nodes.store)
    const before = this.#items
    this.#isKnown = true
    this.#items = itemsOf(classes.store.values(), list, { names, immediate })
    const added = [...this.#items.keys()].filter((key) => !before.has(key))
    return [...added, ...[...before.keys()].filter((key) => !this.#items.has(key))]
  }

  /** Returns the keys of the objects for the volume's topology, if it has one. */
  keysInTopologyOf({ spec }: PersistentVolume): readonly string[] | undefined {
    const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms
    if (terms == null) return undefined
    const keys = new Set(
      terms.map(({ matchExpressions }) =>
        segmentsKey(Object.fromEntries((matchExpressions ?? []).map(({ key, values }) => [key, values?.[0] ?? '']))),
      ),
    )
    return [...this.#items.values()].filter(({ segments }) => keys.has(segmentsKey(segments))).map(({ key }) => key)
  }

  keysOfClass(className: string): readonly string[] {
    return [...this.#items.values()].filter((item) => item.className === className).map(({ key }) => key)
  }

  /** Registers gauges that count CSIStorageCapacity objects, with the metric names of the Go provisioner. */
  registerMetrics(metrics: Metrics): void {
    const { objects } = this.#options
    const isObsolete = (item: string): boolean => this.#isKnown && !this.#items.has(item)
    const obsolete = (): number => [...objects.store.values()].filter(({ itemKey: key }) => isObsolete(key)).length
    const current = (): number =>
      [...this.#items.keys()].filter((key) => objects.store.byIndex(OBJECTS_BY_ITEM, key).length > 0).length
    const gauges = [
      ['desired_goal', 'that are supposed to be managed automatically', () => this.#items.size],
      ['desired_current', 'that exist and are supposed to be managed automatically', current],
      ['obsolete', OBSOLETE, obsolete],
    ] as const
    for (const [name, which, read] of gauges) {
      const help = `[ALPHA] Number of CSIStorageCapacity objects ${which}.`
      metrics.addReading({ name: `csistoragecapacities_${name}`, help, type: 'gauge', read })
    }
  }
}

const OBSOLETE =
  'that exist and will be deleted automatically. Objects that exist and may need an update are not considered ' +
  'obsolete and therefore not included in this value'
