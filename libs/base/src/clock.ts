/**
 * The only file that touches the runtime's time, timers and randomness.
 * Everything else is handed a Clock, so tests decide what time it is.
 */

import { onAbort } from './on-abort.ts'

/** Ends a scheduled callback before it fires; harmless afterwards. */
export type Cancel = () => void

export interface Clock {
  /** Wall time in milliseconds since 1970, for timestamps that people and other programs read. */
  now(): number
  /** Milliseconds since an arbitrary start. Never goes back, and counts on while the process is stopped. */
  monotonic(): number
  /** Calls `fire` once, after at least `ms`. */
  schedule(ms: number, fire: () => void): Cancel
  /** Resolves after at least `ms`; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Uniform in [0, 1). */
  random(): number
}

/** `setTimeout` fires at once for a longer wait, so longer waits are split. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule,
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
  random: () => Math.random(),
}

/** Checks the time again before it fires, because `setTimeout` counts whole milliseconds and can be one early. */
function schedule(ms: number, fire: () => void): Cancel {
  const due = performance.now() + ms
  let timer: NodeJS.Timeout
  const arm = (left: number): void => {
    timer = setTimeout(onTimer, Math.min(Math.max(Math.ceil(left), 0), LONGEST_TIMER_MS))
  }
  const onTimer = (): void => {
    const left = due - performance.now()
    if (left > 0) arm(left)
    else fire()
  }
  arm(ms)
  return () => clearTimeout(timer)
}

/** The one way to sleep, shared by every Clock: the timer and the listener never outlive the wait. */
export function sleepOn(clock: Pick<Clock, 'schedule'>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const cancel = clock.schedule(ms, () => {
      ignoreAbort()
      resolve()
    })
    const ignoreAbort = onAbort(signal, () => {
      cancel()
      reject(signal?.reason)
    })
  })
}
