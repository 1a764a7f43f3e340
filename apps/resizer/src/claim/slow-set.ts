import type { Clock } from '@csi-sidecars/base'

/** Claims whose request the driver called infeasible, each for a fixed time after it was put in. */
export class SlowSet {
  readonly #clock: Clock
  readonly #lifeMs: number
  /** When each key leaves, earliest first: all live for the same time, and an entry is never renewed. */
  readonly #ends = new Map<string, number>()

  constructor(clock: Clock, lifeMs: number) {
    this.#clock = clock
    this.#lifeMs = lifeMs
  }

  /** A key that is in already keeps its time. */
  add(key: string): void {
    this.#sweep()
    if (!this.#ends.has(key)) this.#ends.set(key, this.#clock.monotonic() + this.#lifeMs)
  }

  remove(key: string): void {
    this.#ends.delete(key)
  }

  clear(): void {
    this.#ends.clear()
  }

  /** Milliseconds until the key leaves; undefined when it is not in. */
  leftMs(key: string): number | undefined {
    const end = this.#ends.get(key)
    if (end === undefined) return undefined
    const left = end - this.#clock.monotonic()
    return left > 0 ? left : undefined
  }

  get size(): number {
    this.#sweep()
    return this.#ends.size
  }

  #sweep(): void {
    const now = this.#clock.monotonic()
    for (const [key, end] of this.#ends) {
      if (end > now) return
      this.#ends.delete(key)
    }
  }
}
