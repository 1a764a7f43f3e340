import { FifoLine, type Line } from '@csi-sidecars/workqueue'

/**
 * First come, first served, but for keys that are preferred. The two controllers of claims prefer in each other's line
 * what they begin to work on: so both halves of one edit are worked on together even when thousands of others wait.
 */
export class PreferenceLine implements Line {
  readonly #keys = new FifoLine()
  readonly #preferred = new FifoLine()
  /** Keys that wait in `#keys` and are not preferred. */
  readonly #waiting = new Set<string>()
  /** How often a key still stands in `#keys` though it has left it for `#preferred`. */
  readonly #left = new Map<string, number>()

  get length(): number {
    return this.#waiting.size + this.#preferred.length
  }

  push(key: string): void {
    this.#waiting.add(key)
    this.#keys.push(key)
  }

  touch(): void {}

  take(): string | undefined {
    return this.#preferred.take() ?? this.#takeInOrder()
  }

  release(): void {}

  /** If the key waits it comes next, after those that were preferred before. */
  prefer(key: string): void {
    if (!this.#waiting.delete(key)) return
    this.#left.set(key, (this.#left.get(key) ?? 0) + 1)
    this.#preferred.push(key)
  }

  #takeInOrder(): string | undefined {
    for (let key = this.#keys.take(); key !== undefined; key = this.#keys.take()) {
      if (!this.#hasLeft(key)) {
        this.#waiting.delete(key)
        return key
      }
    }
    return undefined
  }

  #hasLeft(key: string): boolean {
    const times = this.#left.get(key)
    if (times === undefined) return false
    if (times === 1) this.#left.delete(key)
    else this.#left.set(key, times - 1)
    return true
  }
}
