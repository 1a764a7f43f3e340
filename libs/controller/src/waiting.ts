/**
 * An event that a key waits for: the change of an object, by kind and name, or of the driver. The key runs as soon as
 * it happens, instead of at the end of its back-off.
 */
export interface Cause {
  readonly on: string
  readonly name?: string
}

/** Receives the causes that a key begins to wait for. */
export type WaitListener = (causes: readonly Cause[]) => void

const NO_KEYS: ReadonlySet<string> = new Set()

/** The waiting keys by their causes. The cost of an event grows only with the number of keys that wait for it. */
export class WaitingKeys {
  readonly #causes = new Map<string, readonly Cause[]>()
  readonly #keys = new Map<string, Set<string>>()
  readonly #listeners = new Set<WaitListener>()

  /** Makes the key wait for these causes, instead of its earlier causes. */
  set(key: string, causes: readonly Cause[]): void {
    this.delete(key)
    if (causes.length === 0) return
    this.#causes.set(key, causes)
    for (const id of causes.map(idOf)) {
      const keys = this.#keys.get(id) ?? new Set()
      this.#keys.set(id, keys.add(key))
    }
    for (const listener of this.#listeners) listener(causes)
  }

  /** Calls the listener for each key that begins to wait. Returns the function that ends this. */
  onWait(listener: WaitListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  delete(key: string): void {
    for (const id of (this.#causes.get(key) ?? []).map(idOf)) {
      const keys = this.#keys.get(id)
      keys?.delete(key)
      if (keys?.size === 0) this.#keys.delete(id)
    }
    this.#causes.delete(key)
  }

  /** Returns the keys that wait for the cause. The set changes with each key that begins or ends to wait. */
  keysOf(cause: Cause): ReadonlySet<string> {
    return this.#keys.get(idOf(cause)) ?? NO_KEYS
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
