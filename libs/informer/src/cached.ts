/** What a cache needs to know of the objects it holds. Projections are flat: always the same fields in one order. */
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

/** What one writer of the cache did to one key. */
export type InformerEvent<T> =
  | { readonly type: 'added'; readonly object: T }
  | {
      readonly type: 'updated'
      readonly before: T
      readonly after: T
      /** `own`: the result of our own write, before its event. `resync`: nothing has changed. */
      readonly cause: 'watch' | 'own' | 'resync'
    }
  /** `object` is the last known state. At `version` it did not exist any more; undefined where that is not known. */
  | { readonly type: 'deleted'; readonly object: T; readonly version?: string }

/** The cache as its readers see it. What it holds may be older than what the server has, never a mix of two states. */
export interface Reader<T> {
  get(key: string): T | undefined
  values(): IterableIterator<T>
  readonly size: number
  /** The objects for which the index function named `value`. Throws for an index that does not exist. */
  byIndex(index: string, value: string): readonly T[]
  /** Whether a first list is in. It stays true. */
  readonly synced: boolean
  whenSynced(signal?: AbortSignal): Promise<void>
}

/** Names the values under which an object can be found. */
export type IndexFunction<T> = (object: T) => readonly string[]
