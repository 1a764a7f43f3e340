import type { Cached, IndexFunction } from './cached.ts'
import { IndexTable } from './index-table.ts'

export type Indexes<T> = Readonly<Record<string, IndexFunction<T>>>

/** Objects by key, with their indexes: one consistent state, or one that a list is building up. */
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
