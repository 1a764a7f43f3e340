/**
 * The only file that uses the time, the timers and the randomness of the runtime. All other code gets a Clock, so that
 * tests control the time.
 */

import { onAbort } from './on-abort.ts'

/** One second and one minute, in milliseconds. */
export const SECOND = 1000
export const MINUTE = 60 * SECOND

/** Cancels a scheduled callback. Has no effect after the callback has run. */
export type Cancel = () => void

/** The source of time and randomness, so that tests can replace both. */
export interface Clock {
  /** Wall time in milliseconds since 1970, for timestamps that people and other programs read. */
  now(): number
  /** Milliseconds since an arbitrary start. Never goes back; counts while the process is suspended. */
  monotonic(): number
  /** The wall time when `monotonic` was 0, with microseconds as decimals. Outdated after a change of the wall clock. */
  readonly startedAt?: number
  /** Calls `fire` once, after at least `ms` milliseconds. */
  schedule(ms: number, fire: () => void): Cancel
  /** Resolves after at least `ms` milliseconds. Rejects at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** A random number, uniform in [0, 1). */
  random(): number
}

/** The longest wait that `setTimeout` supports: it fires at once for a longer wait, so longer waits are split. */
const MAX_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  startedAt: performance.timeOrigin,
  schedule,
  sleep: (ms, signal) => sleepWith(systemClock, ms, signal),
  random: () => Math.random(),
}

/** Checks the time before it calls back, because `setTimeout` can fire up to one millisecond early. */
function schedule(ms: number, fire: () => void): Cancel {
  const dueAt = performance.now() + ms
  let timer: NodeJS.Timeout
  const arm = (left: number): void => {
    timer = setTimeout(onTimer, Math.min(Math.max(Math.ceil(left), 0), MAX_TIMER_MS))
  }
  const onTimer = (): void => {
    const left = dueAt - performance.now()
    if (left > 0) arm(left)
    else fire()
  }
  arm(ms)
  return () => clearTimeout(timer)
}

/** Implements `sleep` for every Clock. Removes the timer and the abort listener when the wait ends. */
export function sleepWith(clock: Pick<Clock, 'schedule'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const cancel = clock.schedule(ms, () => {
      removeAbortListener()
      resolve()
    })
    const removeAbortListener = onAbort(signal, () => {
      cancel()
      reject(signal?.reason)
    })
  })
}
