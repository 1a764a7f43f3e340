import { type Clock, systemClock } from '@csi-sidecars/base'
import type { Reply } from './listener.ts'

/**
 * Replies that are costly: one for all who ask for the same at a time, and one after the other, with other work in
 * between.
 */
export class SharedReplies {
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #making = new Map<string, Promise<Reply>>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(clock: Pick<Clock, 'sleep'> = systemClock) {
    this.#clock = clock
  }

  /** All that call while the reply to `question` is made, or waits for that, get that reply. */
  get(question: string, make: () => Promise<Reply>): Promise<Reply> {
    const known = this.#making.get(question)
    if (known !== undefined) return known
    const reply = this.#made(this.#last, make).finally(() => this.#making.delete(question))
    this.#making.set(question, reply)
    this.#last = reply.catch(() => undefined) // those who asked hear of it
    return reply
  }

  async #made(last: Promise<unknown>, make: () => Promise<Reply>): Promise<Reply> {
    await last
    // All requests of this turn of the event loop share it.
    await this.#clock.sleep(0)
    return await make()
  }
}
