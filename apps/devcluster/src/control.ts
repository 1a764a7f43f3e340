import { type Clock, scope } from '@csi-sidecars/base'
import { type Outcome, runController } from '@csi-sidecars/controller'
import type { EventTarget, Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { apiVersionOf, type Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { perKeyExponential, WorkQueue } from '@csi-sidecars/workqueue'
import type { Caches } from './caches/caches.ts'

/** How long a controller lives: it takes no more keys after `stop`, and gives up those in work after `cut`. */
export interface Life {
  readonly stop: AbortSignal
  readonly cut: AbortSignal
}

/** What every controller is made of. */
export interface ControllerParts {
  readonly client: KubeClient
  readonly caches: Caches
  readonly recorder: Recorder
  readonly clock: Clock
  readonly log: Logger
}

/** Waits of a key that failed. The later ones are shorter than in a real cluster: here somebody is watching. */
const RETRY = { baseMs: 100, maxMs: 10_000 }

export function newQueue(clock: Clock, retry: { baseMs: number; maxMs: number } = RETRY): WorkQueue {
  return new WorkQueue({ clock, limiter: perKeyExponential(retry) })
}

export interface WorkOptions {
  readonly queue: WorkQueue
  readonly workers: number
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>
  readonly log: Logger
  /** What the keys are, for the log. */
  readonly what: string
}

/**
 * Works on the queue's keys until the end of the controller's life; resolves when no key is in work any more. Each
 * queue has signals of its own: thousands of idle workers of many nodes on one would make each wait for a key dear.
 */
export async function work({ queue, workers, reconcile, log, what }: WorkOptions, life: Life): Promise<void> {
  using stop = scope(life.stop)
  using cut = scope(life.cut)
  const onFailure = (key: string, cause: unknown): void => log.v(2)?.info('Will try again', { [what]: key, err: cause })
  try {
    await runController({ queue, workers, reconcile, onFailure }, stop.signal, cut.signal)
  } finally {
    queue.shutDown()
  }
}

/**
 * As a process that has just been started the controller has to find what an earlier life of it did last, and the caches,
 * which outlive it here, may not have heard of that yet. Throws when the life ends first.
 */
export async function startAfresh(
  informers: readonly Pick<Informer<unknown, never>, 'caughtUp'>[],
  clock: Clock,
  { stop }: Life,
): Promise<void> {
  const now = clock.monotonic()
  await Promise.all(informers.map((informer) => informer.caughtUp(now, stop)))
}

/** The object that an event is about, by what a cache knows of it. */
export function targetOf(
  resource: Resource<unknown>,
  { key, uid, resourceVersion }: { readonly key: string; readonly uid: string; readonly resourceVersion: string },
): EventTarget {
  const slash = key.indexOf('/')
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name: key.slice(slash + 1),
    ...(slash < 0 ? {} : { namespace: key.slice(0, slash) }),
    uid,
    resourceVersion,
  }
}

/** An object's reference by its cache key. */
export function refOf(key: string): { readonly name: string; readonly namespace?: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
