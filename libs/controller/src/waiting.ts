/**
 * What a key waits for: an object that has to appear or to change, by its kind and name, or the driver. When it comes, the
 * key is tried at once instead of at the end of its back-off.
 */
export interface Cause {
  readonly on: string
  readonly name?: string
}

/** Which keys wait for what, found by the cause: an event costs as much as there are keys that wait for it. */
export class WaitingKeys {
  readonly #causes = new Map<string, readonly Cause[]>()
  readonly #keys = new Map<string, Set<string>>()

  /** The key waits for any of these from now on, and for nothing else. */
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

  /** The keys that wait for what has just come. */
  keysOf(cause: Cause): readonly string[] {
    return [...(this.#keys.get(idOf(cause)) ?? [])]
  }

  /** What the key waits for. */
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

/** No kind of cause has a blank. */
function idOf({ on, name = '' }: Cause): string {
  return `${on} ${name}`
}
