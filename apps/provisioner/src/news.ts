import type { Clock } from '@csi-sidecars/base'

interface Reported {
  readonly message: string
  readonly at: number
}

/** Events live for an hour. A cause that lasts is reported again in time. */
const REPORT_AGAIN_MS = 15 * 60_000

/** The last message about each object, so that a cause is one event and not one for each try. */
export class News {
  readonly #last = new Map<string, Reported>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the message is not the last one about the object, or was reported long ago. Counts as reported then. */
  isNews(key: string, message: string): boolean {
    const last = this.#last.get(key)
    const at = this.#clock.monotonic()
    if (last?.message === message && at - last.at < REPORT_AGAIN_MS) return false
    this.#last.set(key, { message, at })
    return true
  }

  forget(key: string): void {
    this.#last.delete(key)
  }
}
