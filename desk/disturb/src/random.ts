/** Returns the next number of a sequence in [0, 1) that a seed determines. */
export type Random = () => number

/** A possible choice. A choice of twice the weight is made twice as often. */
export interface Choice<T> {
  readonly weight: number
  /** Returns the value, or undefined if the choice is impossible now. Then `weighted` makes the next choice instead. */
  readonly make: () => T | undefined
}

/** Returns a mulberry32 generator. The same seed gives another sequence for another text. */
export function seeded(seed: number, text = ''): Random {
  let state = text === '' ? seed >>> 0 : hashOf(`${seed} ${text}`)
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pick<const T>(random: Random, from: readonly [T, ...T[]]): T
export function pick<T>(random: Random, from: readonly T[]): T | undefined
export function pick<T>(random: Random, from: readonly T[]): T | undefined {
  return from[Math.floor(random() * from.length)]
}

/** Returns a random whole number from `least` to `most`, both included. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1))
}

/** Returns one of the choices, each with a probability in proportion to its weight. */
export function weighted<T>(random: Random, choices: readonly Choice<T>[]): T | undefined {
  let left = random() * choices.reduce((sum, { weight }) => sum + weight, 0)
  for (const { weight, make } of choices) {
    left -= weight
    if (left >= 0 || weight === 0) continue
    const made = make()
    if (made !== undefined) return made
  }
  return undefined
}

/** Gives each event a random sequence. It depends only on the event's name and on how often that name has occurred. */
export class Occurrences {
  readonly #seed: number
  readonly #counts = new Map<string, number>()

  constructor(seed: number) {
    this.#seed = seed
  }

  next(purpose: string): Random {
    const nth = (this.#counts.get(purpose) ?? 0) + 1
    this.#counts.set(purpose, nth)
    return seeded(this.#seed, `${purpose} ${nth}`)
  }
}

/** Returns a hash: FNV-1a with the last step of MurmurHash3, so that similar texts get unrelated hashes. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
