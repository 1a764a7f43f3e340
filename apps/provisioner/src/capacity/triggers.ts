import type { Enqueuer, Source } from '@csi-sidecars/controller'
import { changesKeys, changesLabels } from '../caches/cluster.ts'
import type { ProvisionerCaches } from '../caches/open.ts'
import { OBJECTS_BY_ITEM, type SegmentSource } from './items.ts'
import type { CapacityDeps } from './run.ts'

/** Enqueues the same key for all changes of classes and nodes, so that a single run handles many changes. */
export function enqueueOnChanges(classes: ProvisionerCaches['classes'], segments: SegmentSource): Source {
  return (queue) => {
    const enqueue = (): void => queue.add('')
    const stops = [classes.subscribe(enqueue)]
    if (!('fixed' in segments)) {
      stops.push(segments.nodes.subscribe((event) => changesLabels(event) && enqueue()))
      stops.push(segments.registrations.subscribe((event) => changesKeys(event) && enqueue()))
    }
    enqueue()
    return () => {
      for (const stop of stops) stop()
    }
  }
}

/** Enqueues keys after another client has deleted a required CSIStorageCapacity object or created a needless object. */
export function enqueueOnOtherWrites({ objects, items }: Pick<CapacityDeps, 'objects' | 'items'>): Source {
  return (queue) =>
    objects.subscribe((event) => {
      if (event.type === 'updated') return
      const { itemKey: key } = event.object
      const required = items.get(key) === undefined ? 0 : 1
      const found = objects.store.byIndex(OBJECTS_BY_ITEM, key).length
      if (event.type === 'added' ? found > required : found < required) queue.add(key)
    })
}

/** Enqueues all CSIStorageCapacity objects that should exist, once in each `--capacity-poll-interval`. */
export async function enqueueAtIntervals(
  queue: Enqueuer,
  { settings, items, clock }: Pick<CapacityDeps, 'settings' | 'items' | 'clock'>,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    await clock.sleep(settings.pollMs, stop).catch(() => undefined)
    if (!stop.aborted) for (const key of items.keys()) queue.add(key)
  }
}
