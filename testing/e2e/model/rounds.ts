import { repeat } from '../harness/waiting.ts'

const EVERY_MS = 150

/** Repeats the work of a simulated Kubernetes controller. Two repetitions never overlap. */
export class Rounds {
  readonly #round: () => Promise<void>
  #last: Promise<void> = Promise.resolve()
  #ended = false

  constructor(round: () => Promise<void>) {
    this.#round = round
  }

  start(): void {
    void repeat(EVERY_MS, async () => {
      await this.now().catch(() => undefined)
      return !this.#ended
    })
  }

  /** Runs `work` as soon as the current round has ended. Default: a regular round. */
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
}
