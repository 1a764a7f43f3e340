/** The order in which waiting keys are worked on. A key stands in a line at most once. */
export interface Line {
  /** Keys that wait, those that may not be started yet included. */
  readonly length: number
  /**
   * `later`: the key comes back by itself, after a wait. Keys to which something has happened go first, however many of
   * these there are; while both wait, every fourth pick is one of these.
   */
  push(key: string, later: boolean): void
  /** Something has happened to a key that waits already: its place may have to change. */
  touch(key: string): void
  /** The next key that may be started now. Nothing when the line is empty or everything in it has to wait. */
  take(): string | undefined
  /** The work on a taken key has ended; others may have been waiting for that. */
  release(key: string): void
  /** Behind what a key waits though there is room for others; undefined where nothing but the order holds it. */
  behind?(key: string): string | undefined
}

/** While others wait that go first, keys of less urgency get one of this many picks. */
export const SHARE_OF_OTHERS = 4

/** How many taken tickets are kept before their room is reclaimed. */
const SLACK = 1024

interface Ticket {
  readonly key: string
  readonly later: boolean
  /** It has left the line by another way. */
  gone: boolean
}

/** First come, first served, but for keys that come later than others. Amortised O(1). */
export class FifoLine implements Line {
  readonly #tickets = new Map<string, Ticket>()
  readonly #usual = new Tickets()
  readonly #later = new Tickets()
  #picks = 0

  get length(): number {
    return this.#tickets.size
  }

  push(key: string, later = false): void {
    const ticket: Ticket = { key, later, gone: false }
    this.#tickets.set(key, ticket)
    if (later) this.#later.push(ticket)
    else this.#usual.push(ticket)
  }

  touch(key: string): void {
    if (this.#tickets.get(key)?.later !== true) return
    this.remove(key)
    this.push(key)
  }

  take(): string | undefined {
    const isTurnOfLater = this.#picks % SHARE_OF_OTHERS === SHARE_OF_OTHERS - 1
    const [first, second] = isTurnOfLater ? [this.#later, this.#usual] : [this.#usual, this.#later]
    const key = (first.take() ?? second.take())?.key
    if (key === undefined) return undefined
    this.#picks += 1
    this.#tickets.delete(key)
    return key
  }

  release(): void {}

  /** Whether the key has waited. */
  remove(key: string): boolean {
    const ticket = this.#tickets.get(key)
    if (ticket === undefined) return false
    ticket.gone = true
    return this.#tickets.delete(key)
  }
}

class Tickets {
  /** Those before `#head` were taken. */
  #tickets: Ticket[] = []
  #head = 0

  push(ticket: Ticket): void {
    this.#tickets.push(ticket)
  }

  take(): Ticket | undefined {
    for (;;) {
      const ticket = this.#tickets[this.#head]
      if (ticket === undefined) return undefined
      this.#head += 1
      if (this.#head > SLACK && this.#head * 2 > this.#tickets.length) {
        this.#tickets = this.#tickets.slice(this.#head)
        this.#head = 0
      }
      if (!ticket.gone) return ticket
    }
  }
}
