import type { Clock } from '@csi-sidecars/base'

/** How long handlers may run before timers and sockets get their turn. */
const BATCH_MS = 10

/**
 * Delivers every event to every handler, in order. A handler that throws is reported and gets the next events too.
 * Many events are delivered in batches; events emitted meanwhile follow them.
 */
export class Dispatcher<E> {
  readonly #clock: Clock
  readonly #report: (error: unknown, event: E) => void
  readonly #handlers = new Set<(event: E) => void>()
  readonly #queue: Iterator<E>[] = []
  #draining: Promise<void> | undefined
  #dispatching = false

  constructor(clock: Clock, report: (error: unknown, event: E) => void) {
    this.#clock = clock
    this.#report = report
  }

  subscribe(handler: (event: E) => void): () => void {
    const own = (event: E): void => handler(event)
    this.#handlers.add(own)
    return () => this.#handlers.delete(own)
  }

  /**
   * Returns once all events are delivered, or a promise of that when it takes longer than one batch. Events that a
   * handler emits follow the current ones.
   */
  emit(events: Iterable<E>): void | Promise<void> {
    this.#queue.push(events[Symbol.iterator]())
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

  /** Returns whether nothing is left. */
  #drainBatch(): boolean {
    const end = this.#clock.monotonic() + BATCH_MS
    for (let events = this.#queue[0]; events !== undefined; events = this.#queue[0]) {
      for (let step = events.next(); !step.done; step = events.next()) {
        this.#dispatch(step.value)
        if (this.#clock.monotonic() > end) return false
      }
      this.#queue.shift()
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
