import type { Clock } from '@csi-sidecars/base'

/** The claims whose size or class the driver has refused as infeasible. Each claim stays here for a fixed time. */
export class SlowSet {
  readonly #clock: Clock
  readonly #lifeMs: number
  /** The expiry time by key. The first entry expires first, because all keys stay for the same time. */
  readonly #ends = new Map<string, number>()

  constructor(clock: Clock, lifeMs: number) {
    this.#clock = clock
    this.#lifeMs = lifeMs
  }

  /** Adds a key. A key in the set keeps its expiry time. */
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

  /** Returns the milliseconds until the key expires. Undefined for an unknown key. */
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
