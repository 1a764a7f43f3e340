import type { Clock } from '@csi-sidecars/base'

const SLICE_MS = 10

/** Cuts long work into slices, so that timers and sockets get their turn in between. */
export class Slices {
  readonly #clock: Clock
  #began: number
  #seen: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#began = clock.monotonic()
    this.#seen = this.#began
  }

  /** Asked between two pieces of work: whether it is time to `pause`. Work that was interrupted anyway begins anew. */
  get over(): boolean {
    const now = this.#clock.monotonic()
    if (now - this.#seen > SLICE_MS) this.#began = now
    this.#seen = now
    return now - this.#began > SLICE_MS
  }

  async pause(signal: AbortSignal | undefined): Promise<void> {
    await this.#clock.sleep(0, signal)
    this.#began = this.#clock.monotonic()
    this.#seen = this.#began
  }
}
