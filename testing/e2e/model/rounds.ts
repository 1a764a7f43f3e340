import { pause } from '../harness/waiting.ts'

const EVERY_MS = 150

/** Does the work of a Kubernetes controller again and again, and at once after a change. Rounds do not overlap. */
export class Rounds {
  readonly #round: () => Promise<void>
  #last: Promise<void> = Promise.resolve()
  #ended = false

  constructor(round: () => Promise<void>) {
    this.#round = round
  }

  start(): void {
    void this.#repeat()
  }

  /** Does the regular work, or the given work, as soon as the current round has ended. */
  now(work = this.#round): Promise<void> {
    this.#last = this.#last
      .catch(() => undefined)
      .then(async () => {
        if (!this.#ended) await work()
      })
    return this.#last
  }

  async end(): Promise<void> {
    this.#ended = true
    await this.#last.catch(() => undefined)
  }

  async #repeat(): Promise<void> {
    while (!this.#ended) {
      await this.now().catch(() => undefined)
      await pause(EVERY_MS)
    }
  }
}
