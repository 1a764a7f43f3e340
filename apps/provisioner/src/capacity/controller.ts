import { TokenBucket } from '@csi-sidecars/base'
import { type Controller, failureLog, KeyFeed, SETTLED } from '@csi-sidecars/controller'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import { reconcileCapacity } from './reconcile.ts'
import type { CapacityDeps } from './run.ts'
import { enqueueAtIntervals, enqueueOnChanges, enqueueOnOtherWrites } from './triggers.ts'

/** Refreshes the affected CSIStorageCapacity objects after the driver has created or deleted a volume. */
export interface CapacityRefresh {
  created(pv: PersistentVolume, className: string): void
  failed(className: string): void
  deleted(pv: PersistentVolume): void
}

/** Creates, updates and deletes CSIStorageCapacity objects: one for each StorageClass and topology segment. */
export function capacityControllers(deps: CapacityDeps): {
  readonly controllers: readonly Controller[]
  readonly refresh: CapacityRefresh
} {
  const { settings, items, objects, segments, classes, backoff } = deps
  const feed = new KeyFeed()
  const addAll = (keys: Iterable<string>): void => {
    for (const key of keys) feed.add(key)
  }
  const { qps, burst } = settings.limits ?? {}
  const bucket =
    qps === undefined || burst === undefined ? undefined : new TokenBucket({ clock: deps.clock, qps, burst })
  const nodeCaches = 'fixed' in segments ? [] : [segments.nodes, segments.registrations]
  const caches = [classes, objects, ...nodeCaches]
  let isFirst = true
  const keeper: Controller = {
    name: 'csistoragecapacity',
    workers: settings.threads,
    backoff,
    caches,
    sources: [feed.source, enqueueOnOtherWrites(deps)],
    wakers: {},
    // The required objects are unknown until the `csitopology` controller has read the classes and nodes once.
    reconcile: async (key, { signal }) => (isFirst ? SETTLED : await reconcileCapacity(key, { deps, bucket, signal })),
    onFailure: (key, err) =>
      failureLog(err, deps.log)?.error(err, 'The capacity of a segment is unknown', { item: key }),
    callsDriver: true,
    alongside: (queue, stop) => enqueueAtIntervals(queue, deps, stop),
  }
  const topology: Controller = {
    name: 'csitopology',
    workers: 1,
    backoff,
    caches,
    sources: [enqueueOnChanges(classes, segments)],
    wakers: {},
    reconcile: async () => {
      const changed = items.updateItems()
      addAll(isFirst ? items.keys() : changed)
      // CSIStorageCapacity objects of earlier processes may be obsolete. Their reconciliation deletes them.
      for (const { itemKey } of objects.store.values()) if (items.get(itemKey) === undefined) feed.add(itemKey)
      isFirst = false
      return SETTLED
    },
    callsDriver: false,
  }
  const refresh: CapacityRefresh = {
    created: (pv, className) => addAll(items.keysInTopologyOf(pv) ?? items.keysOfClass(className)),
    failed: (className) => addAll(items.keysOfClass(className)),
    deleted: (pv) => addAll(items.keysInTopologyOf(pv) ?? []),
  }
  return { controllers: [topology, keeper], refresh }
}
