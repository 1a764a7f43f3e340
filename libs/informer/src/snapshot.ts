export type Indexes<T> = Readonly<Record<string, IndexFunction<T>>>

/** Objects by key, with their indexes: one consistent state, or the state that a list builds up. */
export class StoreSnapshot<T extends Cached> {
  readonly objects = new Map<string, T>()
  readonly #tables: ReadonlyMap<string, IndexTable<T>>

  constructor(indexes: Indexes<T>) {
    this.#tables = new Map(Object.entries(indexes).map(([name, valuesOf]) => [name, new IndexTable(valuesOf)]))
  }

  set(after: T): void {
    const before = this.objects.get(after.key)
    this.objects.set(after.key, after)
    for (const table of this.#tables.values()) table.update(after.key, before, after)
  }

  delete(key: string): void {
    const before = this.objects.get(key)
    if (!this.objects.delete(key)) return
    for (const table of this.#tables.values()) table.update(key, before, undefined)
  }

  /** Throws for an index that does not exist. */
  byIndex(index: string, value: string): T[] {
    const table = this.#tables.get(index)
    if (table === undefined) throw new Error(`there is no index "${index}"`)
    const found: T[] = []
    for (const key of table.keys(value)) {
      const object = this.objects.get(key)
      if (object !== undefined) found.push(object)
    }
    return found
  }
}

/** Keys by the values of one index function. A value with a single key, the usual case, needs no set. */
class IndexTable<T> {
  readonly #valuesOf: IndexFunction<T>
  readonly #keys = new Map<string, string | Set<string>>()

  constructor(valuesOf: IndexFunction<T>) {
    this.#valuesOf = valuesOf
  }

  /** Moves a key from the values of `before` to the values of `after`. */
  update(key: string, before: T | undefined, after: T | undefined): void {
    const old = before === undefined ? [] : this.#valuesOf(before)
    const fresh = after === undefined ? [] : this.#valuesOf(after)
    for (const value of old) if (!fresh.includes(value)) this.#remove(value, key)
    for (const value of fresh) if (!old.includes(value)) this.#add(value, key)
  }

  /** The keys in the order of their arrival. */
  keys(value: string): Iterable<string> {
    const keys = this.#keys.get(value)
    if (keys === undefined) return []
    return typeof keys === 'string' ? [keys] : keys
  }

  #add(value: string, key: string): void {
    const keys = this.#keys.get(value)
    if (keys === undefined) this.#keys.set(value, key)
    else if (typeof keys !== 'string') keys.add(key)
    else if (keys !== key) this.#keys.set(value, new Set([keys, key]))
  }

  #remove(value: string, key: string): void {
    const keys = this.#keys.get(value)
    if (keys === key) this.#keys.delete(value)
    if (typeof keys !== 'object') return
    keys.delete(key)
    if (keys.size === 0) this.#keys.delete(value)
  }
}

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
