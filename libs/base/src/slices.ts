import type { Clock } from './clock.ts'

const SLICE_MS = 10

type SliceClock = Pick<Clock, 'monotonic' | 'sleep'>

/** Cuts long work into slices, so that timers and sockets get their turn in between. */
export class Slices {
  readonly #clock: SliceClock
  #began: number
  #seen: number

  constructor(clock: SliceClock) {
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

/** Shows each of them to `see`, in slices. What joins them or leaves them meanwhile may be seen or not. */
export async function inSlices<T>(
  items: Iterable<T>,
  see: (item: T) => void,
  { clock, signal }: { readonly clock: SliceClock; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const slices = new Slices(clock)
  for (const item of items) {
    see(item)
    if (slices.over) await slices.pause(signal)
  }
}
