import type { WakeEvent } from './wake-event.ts'

/** Receives the events that a key begins to wait for. */
export type WaitListener = (events: readonly WakeEvent[]) => void

const NO_KEYS: ReadonlySet<string> = new Set()

/** The waiting keys by their events. The cost of an event grows only with the number of keys that wait for it. */
export class WaitingKeys {
  readonly #events = new Map<string, readonly WakeEvent[]>()
  readonly #keys = new Map<string, Set<string>>()
  readonly #listeners = new Set<WaitListener>()

  /** Makes the key wait for these events, instead of its earlier events. */
  set(key: string, events: readonly WakeEvent[]): void {
    this.delete(key)
    if (events.length === 0) return
    this.#events.set(key, events)
    for (const id of events.map(idOf)) {
      const keys = this.#keys.get(id) ?? new Set()
      this.#keys.set(id, keys.add(key))
    }
    for (const listener of this.#listeners) listener(events)
  }

  /** Calls the listener for each key that begins to wait. Returns the unsubscribe function. */
  onWait(listener: WaitListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  delete(key: string): void {
    for (const id of (this.#events.get(key) ?? []).map(idOf)) {
      const keys = this.#keys.get(id)
      keys?.delete(key)
      if (keys?.size === 0) this.#keys.delete(id)
    }
    this.#events.delete(key)
  }

  /** Returns the keys that wait for the event. The set changes with each key that begins or ends to wait. */
  keysWaitingFor(event: WakeEvent): ReadonlySet<string> {
    return this.#keys.get(idOf(event)) ?? NO_KEYS
  }

  eventsOf(key: string): readonly WakeEvent[] {
    return this.#events.get(key) ?? []
  }

  has(key: string): boolean {
    return this.#events.has(key)
  }

  keys(): Iterable<string> {
    return this.#events.keys()
  }
}

/** Returns the ID of an event. It is unique, because the kind contains no blank. */
function idOf({ kind, name = '' }: WakeEvent): string {
  return `${kind} ${name}`
}
