import { setTimeout as pause } from 'node:timers/promises'

export { pause }

/** The time in which a Go sidecar handles an event that it has received. */
export const WATCHES_DIFFER_MS = 150

/** A factor for all time limits of the tests, for a machine that is busy with other work. */
export const TIME_FACTOR = Number(process.env['E2E_TIME_FACTOR'] ?? '1')

/** The time limit and the pause of a loop that repeats a check. */
export interface WaitOptions {
  /** The time limit in milliseconds, without `TIME_FACTOR`. Default: 30,000. */
  readonly within?: number | undefined
  /** The pause between two checks, in milliseconds. Default: a pause that grows from 10 to 100. */
  readonly every?: number
}

const FIRST_PAUSE_MS = 10
const MAX_PAUSE_MS = 100
const PAUSE_GROWTH = 1.3

/**
 * Calls `check` until it returns a value other than `false` and `undefined`, and ignores thrown errors. After the time
 * limit, throws an error with the last thrown error as its cause.
 */
export async function eventually<T>(
  description: string,
  check: () => Promise<T | false | undefined> | T | false | undefined,
  { within = 30_000, every }: WaitOptions = {},
): Promise<T> {
  const end = performance.now() + within * TIME_FACTOR
  let pauseMs = every ?? FIRST_PAUSE_MS
  let last: unknown
  for (;;) {
    try {
      const seen = await check()
      if (seen !== false && seen !== undefined) return seen
      last = undefined
    } catch (error) {
      last = error
    }
    if (performance.now() > end) {
      throw new Error(
        `within ${within} ms there was not: ${description}`,
        last === undefined ? undefined : { cause: last },
      )
    }
    await pause(pauseMs)
    if (every === undefined) pauseMs = Math.min(pauseMs * PAUSE_GROWTH, MAX_PAUSE_MS)
  }
}

/** Repeats work until it returns false, with a pause of this length after each repetition. */
export async function repeat(everyMs: number, work: () => Promise<boolean> | boolean): Promise<void> {
  while (await work()) await pause(everyMs)
}
