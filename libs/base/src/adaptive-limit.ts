/** The minimum number of successes before a lowered limit rises. */
const ROUND = 5

/**
 * A limit of parallel work that adapts to refusals. A refusal halves the limit if its work started after the last
 * halving. Before the first refusal, each success raises the limit by one. Later a limit of n rises by one after n
 * successes.
 *
 * Guarantees: the limit is at least one and at most `max`.
 */
export class AdaptiveLimit {
  readonly #max: number
  #value: number
  #running = 0
  #halvedAt = Number.NEGATIVE_INFINITY
  /** The number of successes since the last change of the limit. */
  #successes = 0

  constructor({ max, first }: { readonly max: number; readonly first: number }) {
    this.#max = max
    this.#value = Math.min(max, first)
  }

  get value(): number {
    return this.#value
  }

  get running(): number {
    return this.#running
  }

  get isFull(): boolean {
    return this.#running >= this.#value
  }

  begin(): void {
    this.#running += 1
  }

  end(): void {
    this.#running -= 1
  }

  /** Records a success. Returns true after enough successes in a row. */
  completesRound(): boolean {
    this.#successes += 1
    const round = this.#halvedAt === Number.NEGATIVE_INFINITY ? 1 : Math.max(ROUND, this.#value)
    if (this.#successes < round) return false
    this.#successes = 0
    return true
  }

  raise(): void {
    this.#value = Math.min(this.#max, this.#value + 1)
  }

  /**
   * Records a refusal of work that started at `startedAt`. `ran` is the number of parallel runs, including the refused
   * work. Returns false if the work started before the last halving: many refusals at once halve the limit only once.
   */
  refused({
    ran,
    startedAt,
    now,
  }: {
    readonly ran: number
    readonly startedAt: number
    readonly now: number
  }): boolean {
    if (startedAt < this.#halvedAt) return false
    this.#halvedAt = now
    this.#successes = 0
    this.#value = Math.max(1, Math.floor(Math.min(this.#value, ran) / 2))
    return true
  }
}
