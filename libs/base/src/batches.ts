import type { Clock } from './clock.ts'

const BATCH_MS = 10

type BatchClock = Pick<Clock, 'monotonic' | 'sleep'>

/** Measures batches of 10 ms into which a caller splits long synchronous work, so that timers and sockets are served between them. */
export class BatchTimer {
  readonly #clock: BatchClock
  #batchBeganAt: number
  #lastCheckedAt: number

  constructor(clock: BatchClock) {
    this.#clock = clock
    this.#batchBeganAt = clock.monotonic()
    this.#lastCheckedAt = this.#batchBeganAt
  }

  /** True if the batch has lasted 10 ms. A caller that has not checked for 10 ms starts a new batch. */
  get isPauseDue(): boolean {
    const now = this.#clock.monotonic()
    const callerWasIdle = now - this.#lastCheckedAt > BATCH_MS
    if (callerWasIdle) this.#batchBeganAt = now
    this.#lastCheckedAt = now
    return now - this.#batchBeganAt > BATCH_MS
  }

  async pause(signal: AbortSignal | undefined): Promise<void> {
    await this.#clock.sleep(0, signal)
    this.#batchBeganAt = this.#clock.monotonic()
    this.#lastCheckedAt = this.#batchBeganAt
  }
}

/** Calls `visit` for each item, in batches. Items that are added or removed in between may be visited or skipped. */
export async function inBatches<T>(
  items: Iterable<T>,
  visit: (item: T) => void,
  { clock, signal }: { readonly clock: BatchClock; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const batches = new BatchTimer(clock)
  for (const item of items) {
    visit(item)
    if (batches.isPauseDue) await batches.pause(signal)
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
