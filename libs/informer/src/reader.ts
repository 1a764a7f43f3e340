/** The fields of every cached object. Projections add other fields, always the same ones in the same order. */
export interface Cached {
  /** The key of the object: `name`, or `namespace/name`. */
  readonly key: string
  readonly resourceVersion: string
  readonly uid: string
  /** The annotation `traceparent`, if the object has it and runs are traced. */
  readonly traceparent?: string
}

/** The identity of an object, and the version of one of its states. */
export type ObjectIdentity = Pick<Cached, 'key' | 'uid' | 'resourceVersion'>

/** A change of one object in a cache. */
export type InformerEvent<T> =
  | { readonly type: 'added'; readonly object: T }
  | {
      readonly type: 'updated'
      readonly before: T
      readonly after: T
      /**
       * `resync`: the object has not changed. A change does not say who made it, because the watch may deliver our own
       * write before its answer.
       */
      readonly origin: 'change' | 'resync'
    }
  /**
   * `object` is the last cached state. `version`, if known, is a version at which the object no longer exists. `last`,
   * if known, is the last stored state, which a watch event has reported. Without `last`, the object was missing in a
   * list or a read, or the projection rejects it: later states than `object` may have existed. A write that removes
   * the last finalizer of an object in deletion is never stored, so `last` does not contain it. A watch with a selector
   * also reports objects that no longer match.
   */
  | { readonly type: 'deleted'; readonly object: T; readonly version?: string; readonly last?: T }

/**
 * A read-only view of a cache.
 *
 * Guarantees: a list replaces all objects in one step, so no reader sees a part of it. No older state replaces a newer
 * one.
 *
 * Caveats: the cached objects may be older than the server's objects.
 *
 * Errors: `byIndex` throws for an unknown index. `whenSynced` rejects with the reason of its signal.
 */
export interface Reader<T> {
  get(key: string): T | undefined
  values(): IterableIterator<T>
  readonly size: number
  /** Returns the objects for which the index function returned `value`. */
  byIndex(index: string, value: string): readonly T[]
  /** True once the first list is complete. It stays true. */
  readonly synced: boolean
  whenSynced(signal?: AbortSignal): Promise<void>
}
