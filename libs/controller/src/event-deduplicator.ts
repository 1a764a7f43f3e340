import type { Clock } from '@csi-sidecars/base'

/** The API server keeps events for an hour. A lasting failure is recorded again before its event expires. */
const REPEAT_AFTER_MS = 15 * 60_000

/** How many events are remembered. */
export interface EventDeduplicatorOptions {
  readonly clock: Clock
  /** The number of objects whose last event is remembered. Default: 10,000. */
  readonly maxObjects?: number
  /** The shortest time between two events about one object, in milliseconds. Default: 0. */
  readonly minIntervalMs?: number
}

interface RecordedEvent {
  readonly message: string
  readonly recordedAt: number
}

/**
 * Decides which events are recorded: an event for each cause, and not for each try.
 *
 * Guarantees: a message about an object is recorded once in 15 minutes, unless another message about the object comes
 * between. Two events about one object are at least `minIntervalMs` apart. At most `maxObjects` messages are remembered,
 * each for 15 minutes.
 *
 * Caveats: if more objects fail within 15 minutes, the oldest messages are forgotten, so their events may repeat. A
 * caller that cannot write all due events chooses among them itself: it asks `isDue` for each, and calls `record` for
 * the chosen events alone. The other events stay due.
 *
 * Errors: no function throws.
 */
export class EventDeduplicator {
  /** The last event about each object, the oldest first. */
  readonly #recorded = new Map<string, RecordedEvent>()
  readonly #clock: Clock
  readonly #maxObjects: number
  readonly #minIntervalMs: number

  constructor({ clock, maxObjects = 10_000, minIntervalMs = 0 }: EventDeduplicatorOptions) {
    this.#clock = clock
    this.#maxObjects = maxObjects
    this.#minIntervalMs = minIntervalMs
  }

  /** Reports whether to record the event, and if so, remembers it. `key` is the UID of the object. */
  shouldRecord(key: string, message: string): boolean {
    if (!this.isDue(key, message)) return false
    this.record(key, message)
    return true
  }

  /** Reports whether to record the event. Remembers nothing. */
  isDue(key: string, message: string): boolean {
    const now = this.#clock.monotonic()
    this.#forgetExpired(now)
    const last = this.#recorded.get(key)
    if (last === undefined) return true
    return last.message !== message && now - last.recordedAt >= this.#minIntervalMs
  }

  /** Remembers an event that is recorded now. */
  record(key: string, message: string): void {
    // A new entry is the last one, so that the map stays in the order of time.
    this.#recorded.delete(key)
    this.#recorded.set(key, { message, recordedAt: this.#clock.monotonic() })
    const [oldest] = this.#recorded.keys()
    if (this.#recorded.size > this.#maxObjects && oldest !== undefined) this.#recorded.delete(oldest)
  }

  /** Forgets the object, because its work is done or the object is gone. */
  forget(key: string): void {
    this.#recorded.delete(key)
  }

  /** The number of remembered messages. */
  get size(): number {
    return this.#recorded.size
  }

  #forgetExpired(now: number): void {
    for (const [key, { recordedAt }] of this.#recorded) {
      if (now - recordedAt < REPEAT_AFTER_MS) return
      this.#recorded.delete(key)
    }
  }
}
