import { type Clock, exponential } from '@csi-sidecars/base'
import type { Cached } from '@csi-sidecars/informer'

type Identity = Pick<Cached, 'key' | 'uid'>

interface Entry {
  readonly uid: string
  /** How often in a row it was undone before the last time. */
  readonly repeats: number
  /** Until when it is not written again, in monotonic milliseconds. */
  readonly until: number
}

/**
 * Writes of ours that other writers have undone. What is undone once is written again at once; what is undone again and
 * again, by another controller or an admission policy, after a pause that doubles. Holds these objects and no others.
 */
export class UndoneWrites {
  readonly #entries = new Map<string, Entry>()
  readonly #options: { readonly baseMs: number; readonly maxMs: number; readonly clock: Clock }

  constructor(options: { baseMs: number; maxMs: number; clock: Clock }) {
    this.#options = options
  }

  /** Another writer has just undone it. */
  note({ key, uid }: Identity): void {
    const { baseMs, maxMs, clock } = this.#options
    const now = clock.monotonic()
    const last = this.#entries.get(key)
    // After a longest pause without it the writer is another one, or a person.
    const repeats = last?.uid === uid && now <= last.until + maxMs ? last.repeats + 1 : 0
    const pauseMs = repeats === 0 ? 0 : exponential({ initialMs: baseMs, maxMs }, repeats - 1)
    this.#entries.set(key, { uid, repeats, until: now + pauseMs })
  }

  /** Whether this has happened to the object since this process leads. */
  has({ key, uid }: Identity): boolean {
    return this.#entries.get(key)?.uid === uid
  }

  /** How long the next write has to wait; 0: not at all. */
  waitMs(object: Identity): number {
    const until = this.has(object) ? this.#entries.get(object.key)?.until : undefined
    return until === undefined ? 0 : Math.max(0, until - this.#options.clock.monotonic())
  }

  /** The object is gone. */
  forget(key: string): void {
    this.#entries.delete(key)
  }
}
