/** What a failed claim waits for: when it comes, the claim is tried at once instead of at the end of its back-off. */
export type Cause =
  | { readonly on: 'volume'; readonly name: string }
  | { readonly on: 'class'; readonly name: string }
  | { readonly on: 'driver' }

/** Which claims wait for what; each for one thing at most. */
export class Waiting {
  readonly #causes = new Map<string, string>()
  readonly #keys = new Map<string, Set<string>>()

  wait(key: string, cause: Cause): void {
    this.stop(key)
    const id = idOf(cause)
    this.#causes.set(key, id)
    const keys = this.#keys.get(id) ?? new Set()
    this.#keys.set(id, keys.add(key))
  }

  /** The claim is being worked on, or gone: it waits for nothing. */
  stop(key: string): void {
    const id = this.#causes.get(key)
    if (id === undefined) return
    this.#causes.delete(key)
    const keys = this.#keys.get(id)
    keys?.delete(key)
    if (keys?.size === 0) this.#keys.delete(id)
  }

  /** The keys that wait for what has just come. */
  keysOf(cause: Cause): readonly string[] {
    return [...(this.#keys.get(idOf(cause)) ?? [])]
  }
}

/** No name of an object has a blank. */
function idOf(cause: Cause): string {
  return cause.on === 'driver' ? cause.on : `${cause.on} ${cause.name}`
}
