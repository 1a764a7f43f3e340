import { type Clock, TokenBucket } from '@csi-sidecars/base'
import {
  type Controller,
  type Enqueuer,
  failureLog,
  KeyFeed,
  type Outcome,
  type Run,
  SETTLED,
  type Source,
} from '@csi-sidecars/controller'
import type { GetCapacityResponse } from '@csi-sidecars/csi-proto'
import type { Informer } from '@csi-sidecars/informer'
import { isConflict, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import {
  CSI_STORAGE_CAPACITIES,
  type CSIStorageCapacity,
  namespacedRef,
  type PersistentVolume,
} from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { changesKeys, changesLabels } from '../caches/cluster.ts'
import type { ProvisionerCaches } from '../caches/open.ts'
import { type CapacityItems, OBJECTS_BY_ITEM, type SegmentSource, type Segments } from './items.ts'
import {
  type Capacity,
  type CapacityObject,
  type CapacitySettings,
  isUpToDate,
  newObject,
  updatedObject,
} from './object.ts'

/** Asks the driver for its capacity for volumes with these parameters in this topology. */
export type GetCapacity = (
  question: { readonly parameters: Readonly<Record<string, string>>; readonly segments: Segments },
  signal: AbortSignal,
) => Promise<GetCapacityResponse>

export interface CapacityParts {
  readonly settings: CapacitySettings
  readonly items: CapacityItems
  readonly objects: Informer<CapacityObject, CSIStorageCapacity>
  readonly segments: SegmentSource
}

export interface CapacityDeps extends CapacityParts {
  readonly api: KubeClient
  readonly classes: ProvisionerCaches['classes']
  readonly backoff: Controller['backoff']
  readonly getCapacity: GetCapacity
  readonly clock: Clock
  readonly log: Logger
}

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
    sources: [feed.source, otherWriters(deps)],
    wakers: {},
    // The required objects are unknown until the `csitopology` controller has read the classes and nodes once.
    reconcile: async (key, run) => (isFirst ? SETTLED : await reconcile(key, { ...deps, bucket }, run)),
    onFailure: (key, err) =>
      failureLog(err, deps.log)?.error(err, 'The capacity of a segment is unknown', { item: key }),
    callsDriver: true,
    alongside: (queue, stop) => poll(queue, deps, stop),
  }
  const topology: Controller = {
    name: 'csitopology',
    workers: 1,
    backoff,
    caches,
    sources: [changesOf(classes, segments)],
    wakers: {},
    reconcile: async () => {
      const changed = items.update()
      addAll(isFirst ? items.keys() : changed)
      // CSIStorageCapacity objects of earlier processes may be obsolete. Their reconciliation deletes them.
      for (const { item } of objects.store.values()) if (items.get(item) === undefined) feed.add(item)
      isFirst = false
      return SETTLED
    },
    callsDriver: false,
  }
  const refresh: CapacityRefresh = {
    created: (pv, className) => addAll(items.inTopologyOf(pv) ?? items.ofClass(className)),
    failed: (className) => addAll(items.ofClass(className)),
    deleted: (pv) => addAll(items.inTopologyOf(pv) ?? []),
  }
  return { controllers: [topology, keeper], refresh }
}

/** Enqueues the same key for all changes of classes and nodes, so that a single run handles many changes. */
function changesOf(classes: ProvisionerCaches['classes'], segments: SegmentSource): Source {
  return (queue) => {
    const look = (): void => queue.add('')
    const stops = [classes.subscribe(look)]
    if (!('fixed' in segments)) {
      stops.push(segments.nodes.subscribe((event) => changesLabels(event) && look()))
      stops.push(segments.registrations.subscribe((event) => changesKeys(event) && look()))
    }
    look()
    return () => {
      for (const stop of stops) stop()
    }
  }
}

/** Enqueues keys after another client has deleted a required CSIStorageCapacity object or created a needless object. */
function otherWriters({ objects, items }: Pick<CapacityDeps, 'objects' | 'items'>): Source {
  return (queue) =>
    objects.subscribe((event) => {
      if (event.type === 'updated') return
      const { item: key } = event.object
      const wanted = items.get(key) === undefined ? 0 : 1
      const found = objects.store.byIndex(OBJECTS_BY_ITEM, key).length
      if (event.type === 'added' ? found > wanted : found < wanted) queue.add(key)
    })
}

/** Enqueues all CSIStorageCapacity objects that should exist, once in each `--capacity-poll-interval`. */
async function poll(queue: Enqueuer, { settings, items, clock }: CapacityDeps, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await clock.sleep(settings.pollMs, stop).catch(() => undefined)
    if (!stop.aborted) for (const key of items.keys()) queue.add(key)
  }
}

interface KeeperDeps extends CapacityDeps {
  readonly bucket: TokenBucket | undefined
}

async function reconcile(key: string, deps: KeeperDeps, run: Run): Promise<Outcome> {
  const { items, objects, classes } = deps
  const item = items.get(key)
  const present = objects.store.byIndex(OBJECTS_BY_ITEM, key)
  const [object, ...duplicates] = item === undefined ? [undefined, ...present] : present
  for (const each of duplicates) if (each !== undefined) await remove(each, { ...deps, signal: run.signal })
  const storageClass = item && classes.store.get(item.className)
  if (item === undefined || storageClass === undefined) return SETTLED
  const { parameters } = storageClass
  const answer = await deps.getCapacity({ parameters, segments: item.segments }, run.signal)
  const capacity: Capacity = { available: answer.availableCapacity, maximum: answer.maximumVolumeSize }
  if (object !== undefined && isUpToDate(object, capacity)) return SETTLED
  await deps.bucket?.take(run.signal)
  const { api, settings } = deps
  if (object === undefined) {
    const created = newObject(item, capacity, settings)
    objects.storeOwnWrite(await api.create(CSI_STORAGE_CAPACITIES, created, { signal: run.signal }))
  } else await update(object, capacity, { ...deps, signal: run.signal })
  return SETTLED
}

interface Writing extends KeeperDeps {
  readonly signal: AbortSignal
}

/** Reads the stored object before the update, because a PUT replaces all of its fields. */
async function update(object: CapacityObject, capacity: Capacity, deps: Writing): Promise<void> {
  const { api, objects, settings, signal } = deps
  const stored = await api.get(CSI_STORAGE_CAPACITIES, namespacedRef(object.key), { signal })
  const updated = updatedObject(stored, capacity, settings)
  objects.storeOwnWrite(await api.replace(CSI_STORAGE_CAPACITIES, updated, { signal }))
}

async function remove(object: CapacityObject, { api, bucket, signal }: Writing): Promise<void> {
  await bucket?.take(signal)
  try {
    await api.delete(CSI_STORAGE_CAPACITIES, namespacedRef(object.key), { signal, uid: object.uid })
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}
