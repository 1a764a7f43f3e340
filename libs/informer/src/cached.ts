/** The fields that a cache needs of each object. Projections are flat: always the same fields in one order. */
export interface Cached {
  /** `name`, or `namespace/name`. */
  readonly key: string
  readonly resourceVersion: string
  readonly uid: string
  /** The annotation of that name. Kept if runs are traced and the object has it, absent otherwise. */
  readonly traceparent?: string
}

/** Identifies one object, and one state of it. */
export type ObjectIdentity = Pick<Cached, 'key' | 'uid' | 'resourceVersion'>

/** A change of one key in the cache. */
export type InformerEvent<T> =
  | { readonly type: 'added'; readonly object: T }
  | {
      readonly type: 'updated'
      readonly before: T
      readonly after: T
      /** `own`: the result of our own write, before its event. `resync`: nothing has changed. */
      readonly cause: 'watch' | 'own' | 'resync'
    }
  /** `object` is the last known state. `version`: the object did not exist at this version. Undefined: unknown. */
  | { readonly type: 'deleted'; readonly object: T; readonly version?: string }

/**
 * The cache as its readers see it.
 *
 * Guarantees: it shows one state of the objects, never a mix of two. No older state replaces a newer one.
 *
 * Caveats: its content may be older than the server's.
 *
 * Errors: `byIndex` throws for an unknown index. `whenSynced` rejects with the reason of its signal.
 */
export interface Reader<T> {
  get(key: string): T | undefined
  values(): IterableIterator<T>
  readonly size: number
  /** The objects for which the index function named `value`. */
  byIndex(index: string, value: string): readonly T[]
  /** True once the first list is complete. It stays true. */
  readonly synced: boolean
  whenSynced(signal?: AbortSignal): Promise<void>
}

/** Returns the values under which an object can be found. */
export type IndexFunction<T> = (object: T) => readonly string[]
