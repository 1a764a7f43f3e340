import { setTimeout as pause } from 'node:timers/promises'

export { pause }

/**
 * Objects of two kinds arrive by different watches. What needs both and comes first begins with a failure, and its
 * back-off with a longer pause: a story that makes both gives the first one so many milliseconds.
 */
export const WATCHES_DIFFER_MS = 150

export interface Patience {
  readonly within?: number
  readonly every?: number
}

/**
 * Looks again and again until there is something to see; `false`, `undefined` and thrown errors are "not yet".
 * Throws what was seen last when the time is over.
 */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | false | undefined> | T | false | undefined,
  { within = 30_000, every = 40 }: Patience = {},
): Promise<T> {
  const end = performance.now() + within
  let last: unknown
  for (;;) {
    try {
      const seen = await look()
      if (seen !== false && seen !== undefined) return seen
      last = undefined
    } catch (error) {
      last = error
    }
    if (performance.now() > end) {
      throw new Error(`within ${within} ms there was not: ${what}`, last === undefined ? undefined : { cause: last })
    }
    await pause(every)
  }
}

/** Holds all the time, or throws with what was seen. */
export async function never(what: string, look: () => unknown, forMs: number): Promise<void> {
  const end = performance.now() + forMs
  for (;;) {
    const seen = await look()
    if (seen) throw new Error(`there must not be: ${what}; seen: ${JSON.stringify(seen)}`)
    if (performance.now() > end) return
    await pause(40)
  }
}
