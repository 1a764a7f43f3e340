import type { Clock } from './clock.ts'

const BATCH_MS = 10

type BatchClock = Pick<Clock, 'monotonic' | 'sleep'>

/** Splits long synchronous work into batches of 10 ms, so that timers and sockets are served between them. */
export class Batches {
  readonly #clock: BatchClock
  #began: number
  #seen: number

  constructor(clock: BatchClock) {
    this.#clock = clock
    this.#began = clock.monotonic()
    this.#seen = this.#began
  }

  /** True if the batch has lasted 10 ms, so that a `pause` is due. A gap of 10 ms between checks starts a new batch. */
  get over(): boolean {
    const now = this.#clock.monotonic()
    if (now - this.#seen > BATCH_MS) this.#began = now
    this.#seen = now
    return now - this.#began > BATCH_MS
  }

  async pause(signal: AbortSignal | undefined): Promise<void> {
    await this.#clock.sleep(0, signal)
    this.#began = this.#clock.monotonic()
    this.#seen = this.#began
  }
}

/** Calls `see` for each item, in batches. Items that are added or removed in between may be visited or skipped. */
export async function inBatches<T>(
  items: Iterable<T>,
  see: (item: T) => void,
  { clock, signal }: { readonly clock: BatchClock; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const batches = new Batches(clock)
  for (const item of items) {
    see(item)
    if (batches.over) await batches.pause(signal)
  }
}

/** Runs `work` for each item, at most `atOnce` at a time. After a failure, no further item is started. */
export async function inParallel<T>(
  atOnce: number,
  items: Iterable<T>,
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const left = Iterator.from(items).map((item, index) => ({ item, index }))
  const worker = async (): Promise<void> => {
    for (const { item, index } of left) await work(item, index)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
