import type { IndexFunction } from './cached.ts'

/** Keys by what one index function says of their objects. A value with a single key, the usual case, costs no set. */
export class IndexTable<T> {
  readonly #valuesOf: IndexFunction<T>
  readonly #keys = new Map<string, string | Set<string>>()

  constructor(valuesOf: IndexFunction<T>) {
    this.#valuesOf = valuesOf
  }

  /** Moves a key from where `before` put it to where `after` belongs. */
  update(key: string, before: T | undefined, after: T | undefined): void {
    const old = before === undefined ? [] : this.#valuesOf(before)
    const fresh = after === undefined ? [] : this.#valuesOf(after)
    for (const value of old) if (!fresh.includes(value)) this.#remove(value, key)
    for (const value of fresh) if (!old.includes(value)) this.#add(value, key)
  }

  /** In the order in which they came. */
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
