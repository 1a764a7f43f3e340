/** Numbers that follow from a seed: what was found can be found again. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Whole, from 0 to below `limit`. */
  below(limit: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  /** One of those that there are; `otherwise` where there are none. */
  of<T>(values: readonly T[], otherwise: T): T {
    return values[this.below(values.length)] ?? otherwise
  }
}
