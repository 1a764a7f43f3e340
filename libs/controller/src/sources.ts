import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import { jsonEqual } from '@csi-sidecars/kube-types'
import type { KeyPriority } from '@csi-sidecars/workqueue'
import type { WaitListener } from './waiting.ts'
import type { WakeEvent } from './wake-event.ts'

/**
 * The operations on the queue of a controller that sources may use. `K` are the kinds of events that the source wakes.
 *
 * Guarantees: each added key runs. If it is added several times before its run reads the caches, it runs once.
 *
 * Caveats: the functions neither wait nor throw.
 */
export interface Enqueuer<K extends string = never> {
  /** Adds the key, which runs as soon as possible. Its failures are not forgotten. */
  add(key: string, priority?: KeyPriority): void
  /** Forgets the failures of the key: its next back-off is the shortest. */
  resetBackoff(key: string): void
  /** Forgets the failures and the age of the key, which has other work. */
  forgetHistory(key: string): void
  /** Runs every key that waits for the event, and resets its back-off. */
  readonly wake: (event: WakeEvent<K>) => void
  /** Forgets the key, because its object is deleted. */
  forget(key: string): void
  /** Reports whether a worker is running the key. */
  isInWork(key: string): boolean
  /** Returns the keys that wait for the event now. */
  keysWaitingFor(event: WakeEvent): ReadonlySet<string>
  /** Calls the listener with the events that a key begins to wait for. Returns the function that ends this. */
  onWait(listener: WaitListener): () => void
}

/**
 * Starts to add keys to the queue of a controller, or to wake keys that wait for events of the kinds `K`. Returns the
 * function that ends this.
 */
export type Source<K extends string = never> = (queue: Enqueuer<K>) => () => void

/** Returns the keys that must run because of an event. Pure. */
export type Trigger<T> = (event: InformerEvent<T>) => Iterable<string>

/** A trigger that also depends on whether a key is running. */
export type QueueTrigger<T> = (event: InformerEvent<T>, queue: Pick<Enqueuer, 'isInWork'>) => Iterable<string>

/**
 * Adds the keys of all cached objects at the start, and later the keys of each event of the cache. The priority is
 * `retry` at a resync, and at the start for objects for which `hasFailed` is true.
 */
export function enqueueOn<T>(
  informer: Pick<Informer<T, never>, 'store' | 'subscribe'>,
  trigger: QueueTrigger<T>,
  hasFailed: (object: T) => boolean = () => false,
): Source {
  return (queue) => {
    const handle = (event: InformerEvent<T>, priority: KeyPriority): void => {
      for (const key of trigger(event, queue)) queue.add(key, priority)
    }
    const stop = informer.subscribe((event) =>
      handle(event, event.type === 'updated' && event.origin === 'resync' ? 'retry' : 'normal'),
    )
    for (const object of informer.store.values())
      handle({ type: 'added', object }, hasFailed(object) ? 'retry' : 'normal')
    return stop
  }
}

/**
 * Forgets the failures of keys whose desired state was replaced. List this source before the source that adds these
 * keys for the same event.
 */
export function forgetHistoryOn<T>(informer: Pick<Informer<T, never>, 'subscribe'>, trigger: Trigger<T>): Source {
  return (queue) =>
    informer.subscribe((event) => {
      for (const key of trigger(event)) queue.forgetHistory(key)
    })
}

/** Runs the keys that wait for one of the wake events that an event of the cache causes. */
export function wakeOn<T, K extends string>(
  informer: Pick<Informer<T, never>, 'subscribe'>,
  wakes: (event: InformerEvent<T>) => Iterable<WakeEvent<K>>,
): Source<K> {
  return (queue) =>
    informer.subscribe((event) => {
      for (const wake of wakes(event)) queue.wake(wake)
    })
}

/**
 * Forgets the keys of deleted objects, so that a recreated object starts without failures. `onDelete` drops other data
 * about the object.
 */
export function forgetDeleted<T extends Cached>(
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

/** Adds keys that other controllers request. Keys requested before the queue starts are added when it starts. */
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

/**
 * Wakes keys because of an event that this process causes itself, in all controllers that list the source. An event
 * before the start of a controller wakes no key of it: its keys have not waited yet.
 */
export class WakeFeed<K extends string> {
  readonly #queues = new Set<Enqueuer<K>>()

  readonly source: Source<K> = (queue) => {
    this.#queues.add(queue)
    return () => this.#queues.delete(queue)
  }

  wake(event: WakeEvent<K>): void {
    for (const queue of this.#queues) queue.wake(event)
  }
}

/**
 * Reports whether an event brings news: an object that appears or disappears, a resync, or an update that changes more
 * than the fields of this process. `withoutOurs` returns an object without these fields.
 *
 * Guarantees: our own write alone brings no news, whether its answer or its watch event comes first. The answer to our
 * own write brings news if it also shows a change by another writer.
 */
export function bringsNews<T extends Cached>(event: InformerEvent<T>, withoutOurs: (object: T) => T): boolean {
  if (event.type !== 'updated' || event.origin === 'resync') return true
  const state = (object: T): object => ({ ...withoutOurs(object), resourceVersion: undefined, traceparent: undefined })
  return !jsonEqual(state(event.before), state(event.after))
}

/** Returns the newest state of the object of an event. */
export function objectOf<T>(event: InformerEvent<T>): T {
  return event.type === 'updated' ? event.after : event.object
}

/** Returns the key of an added or updated object, and no key for a deletion. */
export function presentKey(event: InformerEvent<Cached>): readonly string[] {
  return event.type === 'deleted' ? [] : [objectOf(event).key]
}
