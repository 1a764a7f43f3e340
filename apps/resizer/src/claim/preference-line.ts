import { FifoLine, type Line } from '@csi-sidecars/workqueue'

/**
 * First come, first served, but for keys that are preferred. The two controllers of claims prefer in each other's line
 * what they begin to work on: so both halves of one edit are worked on together even when thousands of others wait.
 */
export class PreferenceLine implements Line {
  readonly #keys = new FifoLine()
  readonly #preferred = new FifoLine()

  get length(): number {
    return this.#keys.length + this.#preferred.length
  }

  push(key: string, later = false): void {
    this.#keys.push(key, later)
  }

  touch(key: string): void {
    this.#keys.touch(key)
  }

  take(): string | undefined {
    return this.#preferred.take() ?? this.#keys.take()
  }

  release(): void {}

  /** If the key waits it comes next, after those that were preferred before. */
  prefer(key: string): void {
    if (this.#keys.remove(key)) this.#preferred.push(key)
  }
}
