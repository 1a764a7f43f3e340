import type { Clock } from '@csi-sidecars/base'
import {
  type Controller,
  enqueueOn,
  type Outcome,
  objectOf,
  presentKey,
  SETTLED,
  type Source,
} from '@csi-sidecars/controller'
import type { Recorder } from '@csi-sidecars/events'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Caches, PODS_BY_CLAIM } from './caches/caches.ts'
import type { CachedPod } from './caches/pod.ts'
import { claimKeyOf } from './caches/volume.ts'

/** The dependencies of every controller. */
export interface ControllerParts {
  readonly client: KubeClient
  readonly caches: Caches
  readonly recorder: Recorder
  readonly clock: Clock
  readonly log: Logger
}

/** The back-off of failed keys. Its maximum is lower than in a real cluster, because a person waits for the result. */
const BACKOFF = { baseMs: 100, maxMs: 10_000 }

/** Returns the common options of all controllers in this library. `name` also describes the keys in log lines. */
export function baseController(
  name: string,
  { log }: Pick<ControllerParts, 'log'>,
): Pick<Controller, 'name' | 'backoff' | 'caches' | 'wakers' | 'callsDriver' | 'onFailure'> {
  return {
    name,
    backoff: BACKOFF,
    caches: [],
    wakers: {},
    callsDriver: false,
    onFailure: (key, cause) => log.v(2)?.info('Will try again', { [name]: key, err: cause }),
  }
}

/** Waits for the work, and ignores a harmless error, by default `NotFound`. The key is then not retried. */
export async function settledUnlessFailed(work: Promise<void>, isSettled = isNotFound): Promise<Outcome> {
  await except(isSettled, work)
  return SETTLED
}

/** Returns the result of the work, or undefined after an error that `isHarmless` accepts. */
export async function except<T>(isHarmless: (error: unknown) => boolean, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (isHarmless(error)) return undefined
    throw error
  }
}

/** Adds keys periodically, in case an event was missed. */
export function periodicKeys(clock: Clock, everyMs: number, keys: () => Iterable<string>): Source {
  return (queue) => {
    let cancel = (): void => undefined
    const arm = (): void => {
      cancel = clock.schedule(everyMs, () => {
        for (const key of keys()) queue.add(key)
        arm()
      })
    }
    arm()
    return () => cancel()
  }
}

/** Adds the keys of the pods whose claims, volumes or drivers change. These objects decide how pods use volumes. */
export function keysOfPodVolumes(
  { claims, volumes, drivers, pods }: Caches,
  keys: (pod: CachedPod) => readonly string[],
): readonly Source[] {
  const byClaim = (key: string): string[] => pods.store.byIndex(PODS_BY_CLAIM, key).flatMap(keys)
  return [
    enqueueOn(claims, (event) => presentKey(event).flatMap(byClaim)),
    enqueueOn(volumes, (event) => {
      const { claimRef } = objectOf(event)
      return event.type === 'deleted' || claimRef === undefined ? [] : byClaim(claimKeyOf(claimRef))
    }),
    enqueueOn(drivers, () => [...pods.store.values()].flatMap(keys)),
  ]
}
