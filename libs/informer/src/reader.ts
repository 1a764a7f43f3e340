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
   * The object was deleted, or the selector of the watch or the projection no longer accepts it. Without `last`, a list
   * or a read did not contain the object, or the projection rejects it: states after `object` may be unknown. A write
   * that removes the last finalizer of an object in deletion is never stored.
   */
  | {
      readonly type: 'deleted'
      /** The last cached state. */
      readonly object: T
      /** A version at which the object no longer exists, if known. */
      readonly version?: string
      /** The last stored state, which the watch event contains. */
      readonly last?: T
    }

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
