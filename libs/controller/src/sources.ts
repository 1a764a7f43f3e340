import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import type { KeyPriority } from '@csi-sidecars/workqueue'
import type { Cause } from './waiting.ts'

/** A controller's queue, as events see it. */
export interface Enqueuer {
  /** Run over the key. Its failures still count. */
  add(key: string, priority?: KeyPriority): void
  /** Earlier failures no longer count: the key's next failure waits as the first one does. */
  resetBackoff(key: string): void
  /** Other work is wanted of the key: earlier failures no longer count, and its age begins now. */
  renew(key: string): void
  /** A cause has come: every key that waits for it is run over, and its back-off reset. */
  wake(cause: Cause): void
  /** The object of the key is deleted. */
  forget(key: string): void
  /** Whether a run over the key is under way. */
  isInWork(key: string): boolean
}

/** Adds keys while a controller runs: starts when called, and returns what ends it. */
export type Source = (queue: Enqueuer) => () => void

/** The keys that an event adds; pure. */
export type Trigger<T> = (event: InformerEvent<T>) => Iterable<string>

/** The same, where it matters whether a run over the key is under way. */
export type QueueTrigger<T> = (event: InformerEvent<T>, queue: Pick<Enqueuer, 'isInWork'>) => Iterable<string>

/**
 * Keys by the events of a cache, beginning with the objects that it holds, as if they were added just now. Of those, the
 * ones that `hasFailed` are retries; so are all at a resync.
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
 * Keys whose earlier failures an event makes meaningless: the request that failed has been replaced. Comes before the
 * source that adds these keys for the same event.
 */
export function resetsOf<T>(informer: Pick<Informer<T, never>, 'subscribe'>, trigger: Trigger<T>): Source {
  return (queue) =>
    informer.subscribe((event) => {
      for (const key of trigger(event)) queue.renew(key)
    })
}

/** Causes for which keys may be waiting. */
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
 * The objects that the keys are: a deleted one has no pending work and waits for nothing, and the next one of its name
 * has not failed yet. `onDelete` drops what else is kept of it.
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

/** Keys that other controllers request. Those that come before the queue starts are added when it starts. */
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

/** The object that an event is about, in its newest state. */
export function objectOf<T>(event: InformerEvent<T>): T {
  return event.type === 'updated' ? event.after : event.object
}

/** The key of an object that exists. */
export function presentKey(event: InformerEvent<Cached>): readonly string[] {
  return event.type === 'deleted' ? [] : [objectOf(event).key]
}
