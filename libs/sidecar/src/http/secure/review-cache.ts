import { createHash } from 'node:crypto'
import { CancelledError, type Clock } from '@csi-sidecars/base'

/** The lifetime of an answer in Kubernetes' delegated authentication and authorization. */
const FRESH_MS = 10_000
const MOST_ANSWERS = 256
/** The number of reviews at the same time. Only a client that guesses tokens causes more. */
const MOST_QUESTIONS = 16

/**
 * Keeps answers of the API server for a short time. Equal reviews at the same time share one request. Errors are not
 * kept, and of questions only digests: they hold tokens, and as much text as a client likes.
 */
export class ReviewCache<T> {
  readonly #clock: Clock
  /** The answers, oldest first. */
  readonly #answers = new Map<string, { readonly value: T; readonly until: number }>()
  readonly #asking = new Map<string, Promise<T>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(question: string, ask: () => Promise<T>): Promise<T> {
    const key = createHash('sha256').update(question).digest('base64')
    const known = this.#answers.get(key)
    if (known !== undefined && known.until > this.#clock.monotonic()) return Promise.resolve(known.value)
    const asking = this.#asking.get(key)
    if (asking !== undefined) return asking
    if (this.#asking.size >= MOST_QUESTIONS) return Promise.reject(new CancelledError('too many reviews at a time'))
    const answer = ask()
      .then((value) => this.#keep(key, value))
      .finally(() => this.#asking.delete(key))
    this.#asking.set(key, answer)
    return answer
  }

  #keep(key: string, value: T): T {
    this.#answers.delete(key)
    this.#answers.set(key, { value, until: this.#clock.monotonic() + FRESH_MS })
    if (this.#answers.size > MOST_ANSWERS) {
      const [oldest] = this.#answers.keys()
      if (oldest !== undefined) this.#answers.delete(oldest)
    }
    return value
  }
}
