/**
 * An event that a key waits for: the change of an object, by kind and name, or of the driver. The key runs as soon as
 * it happens, instead of at the end of its back-off.
 */
export interface Cause {
  readonly on: string
  readonly name?: string
}

/** The waiting keys by their causes. The cost of an event grows only with the number of keys that wait for it. */
export class WaitingKeys {
  readonly #causes = new Map<string, readonly Cause[]>()
  readonly #keys = new Map<string, Set<string>>()

  /** Makes the key wait for these causes, instead of its earlier causes. */
  set(key: string, causes: readonly Cause[]): void {
    this.delete(key)
    if (causes.length === 0) return
    this.#causes.set(key, causes)
    for (const id of causes.map(idOf)) {
      const keys = this.#keys.get(id) ?? new Set()
      this.#keys.set(id, keys.add(key))
    }
  }

  delete(key: string): void {
    for (const id of (this.#causes.get(key) ?? []).map(idOf)) {
      const keys = this.#keys.get(id)
      keys?.delete(key)
      if (keys?.size === 0) this.#keys.delete(id)
    }
    this.#causes.delete(key)
  }

  keysOf(cause: Cause): readonly string[] {
    return [...(this.#keys.get(idOf(cause)) ?? [])]
  }

  causesOf(key: string): readonly Cause[] {
    return this.#causes.get(key) ?? []
  }

  has(key: string): boolean {
    return this.#causes.has(key)
  }

  keys(): Iterable<string> {
    return this.#causes.keys()
  }
}

/** Returns the ID of a cause. It is unique, because the kind contains no blank. */
function idOf({ on, name = '' }: Cause): string {
  return `${on} ${name}`
}
