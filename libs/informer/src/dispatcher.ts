import type { Clock } from '@csi-sidecars/base'

/** How long handlers may run before timers and sockets get their turn. */
const SLICE_MS = 10

/**
 * Tells every handler every event, in order. A handler that throws is reported and goes on hearing of the others.
 * Many events at once are told in slices; what happens meanwhile is told after them.
 */
export class Dispatcher<E> {
  readonly #clock: Clock
  readonly #report: (error: unknown, event: E) => void
  readonly #handlers = new Set<(event: E) => void>()
  readonly #queue: Iterator<E>[] = []
  #draining: Promise<void> | undefined
  #telling = false

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
   * Returns once all has been told, or a promise of that when it takes longer than one slice. What a handler itself
   * sets off is told after what is being told.
   */
  emit(events: Iterable<E>): void | Promise<void> {
    this.#queue.push(events[Symbol.iterator]())
    if (this.#draining !== undefined || this.#telling) return this.#draining
    if (this.#drainSlice()) return undefined
    this.#draining = this.#drainRest()
    return this.#draining
  }

  async #drainRest(): Promise<void> {
    do {
      await this.#clock.sleep(0)
    } while (!this.#drainSlice())
    this.#draining = undefined
  }

  /** Returns whether nothing is left. */
  #drainSlice(): boolean {
    const end = this.#clock.monotonic() + SLICE_MS
    for (let events = this.#queue[0]; events !== undefined; events = this.#queue[0]) {
      for (let step = events.next(); !step.done; step = events.next()) {
        this.#tell(step.value)
        if (this.#clock.monotonic() > end) return false
      }
      this.#queue.shift()
    }
    return true
  }

  #tell(event: E): void {
    this.#telling = true
    for (const handler of this.#handlers) {
      try {
        handler(event)
      } catch (error) {
        this.#report(error, event)
      }
    }
    this.#telling = false
  }
}
