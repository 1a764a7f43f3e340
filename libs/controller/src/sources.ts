import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import type { KeyPriority } from '@csi-sidecars/workqueue'
import type { Cause } from './waiting.ts'

/**
 * The queue of a controller, as sources see it.
 *
 * Guarantees: each added key runs, and runs once for all additions before the run reads the caches.
 *
 * Caveats: the functions neither wait nor throw.
 */
export interface Enqueuer {
  /** Adds the key. Its failures still count. */
  add(key: string, priority?: KeyPriority): void
  /** Forgets the failures of the key: its next failure waits as the first one does. */
  resetBackoff(key: string): void
  /** Begins other work for the key: its failures are forgotten, and its age begins now. */
  renew(key: string): void
  /** Runs every key that waits for the cause, and resets its back-off. */
  wake(cause: Cause): void
  /** Forgets the key, because its object is deleted. */
  forget(key: string): void
  /** Reports whether the key is in work. */
  isInWork(key: string): boolean
}

/** Adds keys while a controller runs. It starts when it is called, and returns the function that ends it. */
export type Source = (queue: Enqueuer) => () => void

/** Returns the keys that an event adds. Pure. */
export type Trigger<T> = (event: InformerEvent<T>) => Iterable<string>

/** A trigger that also depends on whether the key is in work. */
export type QueueTrigger<T> = (event: InformerEvent<T>, queue: Pick<Enqueuer, 'isInWork'>) => Iterable<string>

/**
 * Adds keys by the events of a cache, and at the start for the cached objects, as if they were added just now. Objects
 * for which `hasFailed` is true are retries, and so are all objects at a resync.
 */
export function keysOf<T>(
  informer: Pick<Informer<T, never>, 'store' | 'subscribe'>,
  trigger: QueueTrigger<T>,
  hasFailed: (object: T) => boolean = () => false,
): Source {
  return (queue) => {
    const handle = (event: InformerEvent<T>, priority: KeyPriority): void => {
      for (const key of trigger(event, queue)) queue.add(key, priority)
    }
    const stop = informer.subscribe((event) =>
      handle(event, event.type === 'updated' && event.cause === 'resync' ? 'retry' : 'normal'),
    )
    for (const object of informer.store.values())
      handle({ type: 'added', object }, hasFailed(object) ? 'retry' : 'normal')
    return stop
  }
}

/**
 * Resets keys whose request was replaced: their failures mean nothing any longer. List this source before the source
 * that adds these keys for the same event.
 */
export function resetsOf<T>(informer: Pick<Informer<T, never>, 'subscribe'>, trigger: Trigger<T>): Source {
  return (queue) =>
    informer.subscribe((event) => {
      for (const key of trigger(event)) queue.renew(key)
    })
}

/** Wakes the keys that wait for the causes in an event. */
export function causesOf<T>(
  informer: Pick<Informer<T, never>, 'subscribe'>,
  causes: (event: InformerEvent<T>) => Iterable<Cause>,
): Source {
  return (queue) =>
    informer.subscribe((event) => {
      for (const cause of causes(event)) queue.wake(cause)
    })
}

/**
 * Forgets the keys of deleted objects: they have no pending work and wait for nothing, and a recreated object has no
 * failures. `onDelete` drops other knowledge about the object.
 */
export function objectsOf<T extends Cached>(
  informer: Pick<Informer<T, never>, 'subscribe'>,
  onDelete: (object: T) => void = () => {},
): Source {
  return (queue) =>
    informer.subscribe((event) => {
      if (event.type !== 'deleted') return
      queue.forget(event.object.key)
      onDelete(event.object)
    })
}

/**
 * Adds keys that other controllers request. Keys that are requested before the queue starts are added when it starts.
 */
export class KeyFeed {
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

/** Returns the newest state of the object of an event. */
export function objectOf<T>(event: InformerEvent<T>): T {
  return event.type === 'updated' ? event.after : event.object
}

/** Returns the key of an existing object, and none for a deletion. */
export function presentKey(event: InformerEvent<Cached>): readonly string[] {
  return event.type === 'deleted' ? [] : [objectOf(event).key]
}
