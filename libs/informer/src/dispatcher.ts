import type { Clock } from '@csi-sidecars/base'

/** The longest time that handlers run without a break for timers and sockets, in milliseconds. */
const BATCH_MS = 10

interface Pending<E> {
  readonly events: Iterator<E>
  readonly inBatches: boolean
}

/**
 * Delivers every event of a cache to all its handlers, in order. An error of a handler is reported, and the handler
 * still gets later events.
 */
export class Dispatcher<E> {
  readonly #clock: Clock
  readonly #report: (error: unknown, event: E) => void
  readonly #handlers = new Set<(event: E) => void>()
  readonly #queue: Pending<E>[] = []
  #draining: Promise<void> | undefined
  #dispatching = false

  constructor(clock: Clock, report: (error: unknown, event: E) => void) {
    this.#clock = clock
    this.#report = report
  }

  subscribe(handler: (event: E) => void): () => void {
    const ownHandler = (event: E): void => handler(event)
    this.#handlers.add(ownHandler)
    return () => this.#handlers.delete(ownHandler)
  }

  /**
   * Delivers the events of one change before it returns, so that no caller reads the changed cache before the handlers
   * know the change. During another delivery it only queues the events.
   */
  emit(events: readonly E[]): void {
    void this.#deliver({ events: events.values(), inBatches: false })
  }

  /** Delivers many events in batches, before all later events. Returns a promise if one batch is not enough. */
  emitInBatches(events: Iterable<E>): void | Promise<void> {
    return this.#deliver({ events: events[Symbol.iterator](), inBatches: true })
  }

  #deliver(pending: Pending<E>): void | Promise<void> {
    this.#queue.push(pending)
    if (this.#draining !== undefined || this.#dispatching) return this.#draining
    if (this.#drainBatch()) return undefined
    this.#draining = this.#drainRest()
    return this.#draining
  }

  async #drainRest(): Promise<void> {
    do {
      await this.#clock.sleep(0)
    } while (!this.#drainBatch())
    this.#draining = undefined
  }

  /** Delivers one batch of events. Returns true if the queue is empty then. */
  #drainBatch(): boolean {
    const end = this.#clock.monotonic() + BATCH_MS
    for (let pending = this.#queue[0]; pending !== undefined; pending = this.#queue[0]) {
      const { events, inBatches } = pending
      for (let step = events.next(); !step.done; step = events.next()) {
        this.#dispatch(step.value)
        if (inBatches && this.#clock.monotonic() > end) return false
      }
      this.#queue.shift()
      if (this.#queue.length > 0 && this.#clock.monotonic() > end) return false
    }
    return true
  }

  #dispatch(event: E): void {
    this.#dispatching = true
    for (const handler of this.#handlers) {
      try {
        handler(event)
      } catch (error) {
        this.#report(error, event)
      }
    }
    this.#dispatching = false
  }
}
