import type { Informer } from '@csi-sidecars/informer'
import type { CSIStorageCapacity, PersistentVolume } from '@csi-sidecars/kube-types'
import type { Metrics } from '@csi-sidecars/telemetry'
import type { Names } from '../caches/names.ts'
import type { Caches, TopologyCaches } from '../caches/open.ts'
import { type Item, itemsOf, type Segments, segmentsKey, segmentsOf } from './item.ts'
import type { CapacityObject } from './object.ts'

export const OBJECTS_BY_ITEM = 'item'

/** The origin of the segments: the nodes of the cluster, or the only node of this process. */
export type SegmentSource = Pick<TopologyCaches, 'nodes' | 'registrations'> | { readonly fixed: Segments }

export interface ItemsOptions {
  readonly classes: Caches['classes']
  readonly segments: SegmentSource
  readonly objects: Informer<CapacityObject, CSIStorageCapacity>
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
