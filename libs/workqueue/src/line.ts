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

const RESERVED_SHARE = 0.4

/** How many keys start beyond so many workers while others, which are to leave room, occupy all. With one nothing overlaps. */
export function reservedOf(workers: number): number {
  return workers < 2 ? 0 : Math.max(1, Math.floor(workers * RESERVED_SHARE))
}

/** How many taken tickets are kept before their room is reclaimed. */
const SLACK = 1024

interface Ticket {
  readonly key: string
  readonly later: boolean
  readonly among: Tickets
  /** It has left the line by another way. */
  gone: boolean
}

export interface FifoOptions {
  /** Left out: as many as there are keys. */
  readonly workers?: number
  /** How many keys that do not come later start though those that do occupy all workers. */
  readonly reserved?: number
}

/**
 * First come, first served, but for keys that are preferred and for keys that come later. What hangs again and again
 * starves no newcomer: while such keys occupy all workers, as many others as are reserved start beyond them.
 * Amortised O(1).
 */
export class FifoLine implements Line {
  /** The most keys that can be in work at once. */
  readonly capacity: number
  readonly #workers: number
  readonly #reserved: number
  readonly #waiting = new Map<string, Ticket>()
  readonly #preferred = new Tickets()
  readonly #keys = new Tickets()
  #inWork = 0
  /** Of those in work, the ones that came later. */
  readonly #laterInWork = new Set<string>()

  constructor({ workers = Number.POSITIVE_INFINITY, reserved = 0 }: FifoOptions = {}) {
    this.capacity = workers <= 0 ? 0 : workers + reserved
    this.#workers = workers
    this.#reserved = reserved
  }

  get length(): number {
    return this.#waiting.size
  }

  push(key: string, later = false): void {
    this.#join({ key, later, among: this.#keys, gone: false })
  }

  touch(key: string): void {
    const ticket = this.#waiting.get(key)
    if (ticket?.later !== true) return
    this.#move(ticket, { later: false })
  }

  /** If the key waits it comes next, after those that were preferred before. */
  prefer(key: string): void {
    const ticket = this.#waiting.get(key)
    if (ticket === undefined || ticket.among === this.#preferred) return
    this.#move(ticket, { among: this.#preferred })
  }

  take(): string | undefined {
    const isFull = this.#inWork >= this.#workers
    if (isFull && this.#inWork - this.#laterInWork.size >= this.#reserved) return undefined
    const ticket = this.#preferred.take(isFull) ?? this.#keys.take(isFull)
    if (ticket === undefined) return undefined
    const { key, later } = ticket
    this.#waiting.delete(key)
    this.#inWork += 1
    if (later) this.#laterInWork.add(key)
    return key
  }

  release(key: string): void {
    this.#inWork -= 1
    this.#laterInWork.delete(key)
  }

  /** To the end of where it stands then. */
  #move(ticket: Ticket, change: Partial<Ticket>): void {
    ticket.gone = true
    this.#join({ ...ticket, ...change, gone: false })
  }

  #join(ticket: Ticket): void {
    this.#waiting.set(ticket.key, ticket)
    ticket.among.push(ticket)
  }
}

/** Both kinds in the order in which they came. While both wait, those that come later get every fourth pick. */
class Tickets {
  readonly #usual = new TicketQueue()
  readonly #later = new TicketQueue()
  #picks = 0

  push(ticket: Ticket): void {
    if (ticket.later) this.#later.push(ticket)
    else this.#usual.push(ticket)
  }

  take(usualOnly: boolean): Ticket | undefined {
    if (usualOnly) return this.#usual.take()
    const isTurnOfLater = this.#picks % SHARE_OF_OTHERS === SHARE_OF_OTHERS - 1
    const [first, second] = isTurnOfLater ? [this.#later, this.#usual] : [this.#usual, this.#later]
    const ticket = first.take() ?? second.take()
    if (ticket !== undefined) this.#picks += 1
    return ticket
  }
}

/** The tickets of one kind. */
class TicketQueue {
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
