/** The order in which waiting keys are worked on. A key stands in a line at most once. */
export interface Line {
  /** Keys that wait, those that may not be started yet included. */
  readonly length: number
  push(key: string): void
  /** The key waits already and was added again: its place may have to change. */
  touch(key: string): void
  /** The next key that may be started now. Nothing when the line is empty or everything in it has to wait. */
  take(): string | undefined
  /** The work on a taken key has ended; others may have been waiting for that. */
  release(key: string): void
  /** Behind what a key waits though there is room for others; undefined where nothing but the order holds it. */
  behind?(key: string): string | undefined
}

/** How many taken keys are kept before their room is reclaimed. */
const SLACK = 1024

/** First come, first served. Amortised O(1). */
export class FifoLine implements Line {
  /** Those before `#head` were taken. */
  #keys: string[] = []
  #head = 0

  get length(): number {
    return this.#keys.length - this.#head
  }

  push(key: string): void {
    this.#keys.push(key)
  }

  touch(): void {}

  take(): string | undefined {
    const key = this.#keys[this.#head]
    if (key === undefined) return undefined
    this.#head += 1
    if (this.#head > SLACK && this.#head * 2 > this.#keys.length) {
      this.#keys = this.#keys.slice(this.#head)
      this.#head = 0
    }
    return key
  }

  release(): void {}
}
