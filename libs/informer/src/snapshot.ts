import type { Cached } from './reader.ts'

export type Indexes<T> = Readonly<Record<string, IndexFunction<T>>>

/** Returns the values under which an index finds the object. */
export type IndexFunction<T> = (object: T) => readonly string[]

/** Objects by key, with indexes. Each list fills a new snapshot, which then replaces the current snapshot. */
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

  /** Returns the objects under a value of the index. Throws without such an index. */
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

/** The keys of objects by the values of one index function. A single key is stored without a set, to save memory. */
class IndexTable<T> {
  readonly #valuesOf: IndexFunction<T>
  readonly #keys = new Map<string, string | Set<string>>()

  constructor(valuesOf: IndexFunction<T>) {
    this.#valuesOf = valuesOf
  }

  /** Removes a key from the index values of `before`, and adds the key to the index values of `after`. */
  update(key: string, before: T | undefined, after: T | undefined): void {
    const old = before === undefined ? [] : this.#valuesOf(before)
    const fresh = after === undefined ? [] : this.#valuesOf(after)
    for (const value of old) {
      if (!fresh.includes(value)) this.#remove(value, key)
    }
    for (const value of fresh) {
      if (!old.includes(value)) this.#add(value, key)
    }
  }

  /** Returns the keys under a value, in the order in which they were added. */
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
