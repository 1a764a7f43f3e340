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
  /** The pause between two checks, in milliseconds. Default: 40. */
  readonly every?: number
}

/**
 * Calls `check` until it returns a value other than `false` and `undefined`, and ignores thrown errors. After the time
 * limit, throws an error with the last thrown error as its cause.
 */
export async function eventually<T>(
  description: string,
  check: () => Promise<T | false | undefined> | T | false | undefined,
  { within = 30_000, every = 40 }: WaitOptions = {},
): Promise<T> {
  const end = performance.now() + within * TIME_FACTOR
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
    await pause(every)
  }
}

/** Repeats work until it returns false, with a pause of this length after each repetition. */
export async function repeat(everyMs: number, work: () => Promise<boolean> | boolean): Promise<void> {
  while (await work()) await pause(everyMs)
}
