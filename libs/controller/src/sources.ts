import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import type { Cause } from './waiting.ts'

/** A controller's queue, as events see it. */
export interface Enqueuer {
  /** Look at the key. Its failures still count. `later`: nothing has happened to it, so that others go first. */
  add(key: string, later?: boolean): void
  /** What failed before says nothing any more: the key's next failure waits as the first. */
  resetBackoff(key: string): void
  /** Other work is wanted of the key: what failed before says nothing any more, and its age begins now. */
  renew(key: string): void
  /** What was waited for has come: every key that waits for it is looked at, and its back-off reset. */
  wake(cause: Cause): void
  /** The object of the key is gone. */
  forget(key: string): void
  /** Whether a run over the key is under way. */
  isInWork(key: string): boolean
}

/** Puts keys to work for as long as a controller runs: starts when called, and returns what ends it. */
export type Source = (queue: Enqueuer) => () => void

/** The keys that an event puts to work; pure. */
export type Trigger<T> = (event: InformerEvent<T>) => Iterable<string>

/** The same, where it matters whether a run over the key is under way. */
export type QueueTrigger<T> = (event: InformerEvent<T>, queue: Pick<Enqueuer, 'isInWork'>) => Iterable<string>

/**
 * Keys by the events of a cache, which begins with what it already holds as if that was added just now. Of that, objects
 * that `hasFailed` let others go first; so do all at a resync.
 */
export function keysOf<T>(
  informer: Pick<Informer<T, never>, 'store' | 'subscribe'>,
  trigger: QueueTrigger<T>,
  hasFailed: (object: T) => boolean = () => false,
): Source {
  return (queue) => {
    const handle = (event: InformerEvent<T>, later: boolean): void => {
      for (const key of trigger(event, queue)) queue.add(key, later)
    }
    const stop = informer.subscribe((event) => handle(event, event.type === 'updated' && event.cause === 'resync'))
    for (const object of informer.store.values()) handle({ type: 'added', object }, hasFailed(object))
    return stop
  }
}

/**
 * Keys for which an event makes earlier failures meaningless: what was wanted when they happened is wanted no more.
 * Comes before the source that adds these keys for the same event.
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
 * The objects that the keys are: one that is gone owes nothing and waits for nothing, and the next one of its name has
 * not failed yet. `gone` lets go of what else is kept of it.
 */
export function objectsOf<T extends Cached>(
  informer: Pick<Informer<T, never>, 'subscribe'>,
  gone: (object: T) => void = () => {},
): Source {
  return (queue) =>
    informer.subscribe((event) => {
      if (event.type !== 'deleted') return
      queue.forget(event.object.key)
      gone(event.object)
    })
}
