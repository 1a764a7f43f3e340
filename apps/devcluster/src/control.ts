import type { Clock } from '@csi-sidecars/base'
import { type Controller, type Enqueuer, type ReadCache, runTerm, type Source } from '@csi-sidecars/controller'
import type { EventTarget, Recorder } from '@csi-sidecars/events'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { apiVersionOf, type Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
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
const BACKOFF = { baseMs: 100, maxMs: 10_000 }

/** One queue of a controller with its workers. `of` says what its keys are, for the log. */
export interface Work extends Pick<Controller, 'workers' | 'sources' | 'reconcile'> {
  readonly of: string
  readonly backoff?: Controller['backoff']
  /** It begins when these miss nothing. */
  readonly caches?: readonly ReadCache[]
}

/**
 * Works until the end of the controller's life. As a process that has just been started it has to find what an earlier
 * life of it did last, and the caches, which outlive it here, may not have heard of that yet.
 */
export async function runWorks(
  works: readonly Work[],
  { clock, log }: Pick<ControllerParts, 'clock' | 'log'>,
  life: Life,
): Promise<void> {
  const lead = { ...life, assertLeading: () => undefined, soleSince: clock.monotonic() }
  const controllers = works.map(
    ({ of, backoff = BACKOFF, caches = [], ...work }): Controller => ({
      ...work,
      name: of,
      backoff,
      caches,
      callsDriver: false,
      onFailure: (key, cause) => log.v(2)?.info('Will try again', { [of]: key, err: cause }),
    }),
  )
  await runTerm(lead, controllers, { clock })
}

/** Runs it again and again, for what events may have missed, until it is told to stop. */
export function periodically(clock: Clock, ms: number, run: () => void): () => void {
  let cancel = (): void => undefined
  const arm = (): void => {
    cancel = clock.schedule(ms, () => {
      run()
      arm()
    })
  }
  arm()
  return () => cancel()
}

/** Takes keys also before its queue has started. */
export class KeyInbox {
  readonly #early = new Set<string>()
  #queue: Enqueuer | undefined

  readonly source: Source = (queue) => {
    this.#queue = queue
    for (const key of this.#early) queue.add(key)
    this.#early.clear()
    return () => {
      this.#queue = undefined
    }
  }

  add(key: string): void {
    if (this.#queue === undefined) this.#early.add(key)
    else this.#queue.add(key)
  }
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
