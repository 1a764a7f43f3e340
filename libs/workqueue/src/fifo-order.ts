import type { KeyOrder, KeyPriority } from './key-order.ts'

/** The number of entries of started keys that a `TicketQueue` keeps before it frees their memory. */
const SLACK = 1024

interface Ticket {
  readonly key: string
  readonly priority: KeyPriority
  readonly among: Tickets
  /** True if a later entry (ticket) of the same key replaces this entry. The queue then skips this entry. */
  withdrawn: boolean
}

/** The limits of a first-in, first-out order. */
export interface FifoOptions {
  /** The number of keys that may be in work. Default: no limit. */
  readonly workers?: number
  /** The number of normal keys that start while retries occupy all workers. Default: 0. */
  readonly reserved?: number
}

/**
 * The order of arrival, except that preferred keys start first and retries last. While retries occupy all workers, up
 * to `reserved` normal keys still start. Amortised O(1).
 */
export class FifoOrder implements KeyOrder {
  /** The maximum number of keys in progress. */
  readonly capacity: number
  readonly #workers: number
  readonly #reserved: number
  readonly #waiting = new Map<string, Ticket>()
  readonly #preferred = new Tickets()
  readonly #keys = new Tickets()
  #inWork = 0
  readonly #retriesInWork = new Set<string>()

  constructor({ workers = Number.POSITIVE_INFINITY, reserved = 0 }: FifoOptions = {}) {
    this.capacity = workers <= 0 ? 0 : workers + reserved
    this.#workers = workers
    this.#reserved = reserved
  }

  get length(): number {
    return this.#waiting.size
  }

  push(key: string, priority: KeyPriority = 'normal'): void {
    this.#join({ key, priority, among: this.#keys, withdrawn: false })
  }

  touch(key: string): void {
    const ticket = this.#waiting.get(key)
    if (ticket?.priority === 'retry') this.#move(ticket, { priority: 'normal' })
  }

  /** Moves a waiting key to the front, behind keys that were preferred earlier. */
  prefer(key: string): void {
    const ticket = this.#waiting.get(key)
    if (ticket === undefined || ticket.among === this.#preferred) return
    this.#move(ticket, { among: this.#preferred })
  }

  pop(): string | undefined {
    const isFull = this.#inWork >= this.#workers
    if (isFull && this.#inWork - this.#retriesInWork.size >= this.#reserved) return undefined
    const ticket = this.#preferred.pop(isFull) ?? this.#keys.pop(isFull)
    if (ticket === undefined) return undefined
    const { key, priority } = ticket
    this.#waiting.delete(key)
    this.#inWork += 1
    if (priority === 'retry') this.#retriesInWork.add(key)
    return key
  }

  release(key: string): void {
    this.#inWork -= 1
    this.#retriesInWork.delete(key)
  }

  /** Replaces the entry of a waiting key by a changed entry at the end of its new queue. */
  #move(ticket: Ticket, change: Partial<Ticket>): void {
    ticket.withdrawn = true
    this.#join({ ...ticket, ...change, withdrawn: false })
  }

  #join(ticket: Ticket): void {
    this.#waiting.set(ticket.key, ticket)
    ticket.among.push(ticket)
  }
}

/** The entries of waiting keys, for each priority in the order of their arrival. */
class Tickets {
  readonly #queues: Readonly<Record<KeyPriority, TicketQueue>> = { normal: new TicketQueue(), retry: new TicketQueue() }
  #picks = 0

  push(ticket: Ticket): void {
    this.#queues[ticket.priority].push(ticket)
  }

  pop(normalOnly: boolean): Ticket | undefined {
    const { normal, retry } = this.#queues
    if (normalOnly) return normal.pop()
    const isTurnOfRetries = this.#picks % FAIRNESS_INTERVAL === FAIRNESS_INTERVAL - 1
    const [first, second] = isTurnOfRetries ? [retry, normal] : [normal, retry]
    const ticket = first.pop() ?? second.pop()
    if (ticket !== undefined) this.#picks += 1
    return ticket
  }
}

/** The entries of waiting keys of one priority, in the order of their arrival. */
class TicketQueue {
  /** The entries before `#head` belong to keys that have started. */
  #tickets: Ticket[] = []
  #head = 0

  push(ticket: Ticket): void {
    this.#tickets.push(ticket)
  }

  pop(): Ticket | undefined {
    for (;;) {
      const ticket = this.#tickets[this.#head]
      if (ticket === undefined) return undefined
      this.#head += 1
      if (this.#head > SLACK && this.#head * 2 > this.#tickets.length) {
        this.#tickets = this.#tickets.slice(this.#head)
        this.#head = 0
      }
      if (!ticket.withdrawn) return ticket
    }
  }
}

/** While keys of both priorities wait, every fourth started key is a retry. */
export const FAIRNESS_INTERVAL = 4

const RESERVED_SHARE = 0.4

/** Returns the number of normal keys that start while retries occupy all workers. It is 0 with one worker. */
export function reservedFor(workers: number): number {
  return workers < 2 ? 0 : Math.max(1, Math.floor(workers * RESERVED_SHARE))
}
