/** What a failed attachment waits for: when it comes, the attachment is tried at once instead of at the end of its back-off. */
export type Cause =
  | { readonly on: 'volume'; readonly name: string }
  | { readonly on: 'node'; readonly name: string }
  | { readonly on: 'driver' }

/** What the API cannot hold. Lost with the process and with leadership, without harm. */
export class AttachmentMemory {
  readonly #forced = new Set<string>()
  readonly #waiting = new Map<string, Cause>()
  readonly #owingStatus = new Set<string>()

  /** The next run acts though the status says that nothing is to be done. */
  force(key: string): void {
    this.#forced.add(key)
  }

  /** Uses up the force mark. */
  takeForce(key: string): boolean {
    return this.#forced.delete(key)
  }

  /** The attachment's status must say that it is detached, and nothing in the API tells that it does not yet. */
  oweStatus(key: string): void {
    this.#owingStatus.add(key)
  }

  owesStatus(key: string): boolean {
    return this.#owingStatus.has(key)
  }

  /** The status is as it should be. */
  stopOwing(key: string): void {
    this.#owingStatus.delete(key)
  }

  waitFor(key: string, cause: Cause): void {
    this.#waiting.set(key, cause)
  }

  /** The key is being worked on, or gone: it waits for nothing. */
  stopWaiting(key: string): void {
    this.#waiting.delete(key)
  }

  forget(key: string): void {
    this.#forced.delete(key)
    this.#waiting.delete(key)
    this.#owingStatus.delete(key)
  }

  /** The keys that wait for what has just come. */
  *waitingFor(cause: Cause): Generator<string> {
    for (const [key, awaited] of this.#waiting) if (matches(awaited, cause)) yield key
  }
}

function matches(awaited: Cause, come: Cause): boolean {
  if (awaited.on === 'driver' || come.on === 'driver') return awaited.on === come.on
  return awaited.on === come.on && awaited.name === come.name
}
