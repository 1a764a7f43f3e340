const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** Returns the age of a time as kubectl prints it, such as `5m30s`. Unknown if the time is not set. */
export function ageOf(time: unknown, now: number): string {
  if (typeof time !== 'string') return '<unknown>'
  return duration(now - Date.parse(time))
}

/** Formats a duration as kubectl does. A small first number gets a second unit: `5m30s`, but `15m`. */
export function duration(ms: number): string {
  if (ms <= -2 * SECOND) return '<invalid>'
  if (ms < 2 * MINUTE) return `${Math.max(Math.trunc(ms / SECOND), 0)}s`
  if (ms < 10 * MINUTE) return both(ms, [MINUTE, 'm'], [SECOND, 's'])
  if (ms < 3 * HOUR) return `${Math.trunc(ms / MINUTE)}m`
  if (ms < 8 * HOUR) return both(ms, [HOUR, 'h'], [MINUTE, 'm'])
  if (ms < 2 * DAY) return `${Math.trunc(ms / HOUR)}h`
  if (ms < 8 * DAY) return both(ms, [DAY, 'd'], [HOUR, 'h'])
  if (ms < 2 * YEAR) return `${Math.trunc(ms / DAY)}d`
  if (ms < 8 * YEAR) return both(ms, [YEAR, 'y'], [DAY, 'd'])
  return `${Math.trunc(ms / YEAR)}y`
}

type Unit = readonly [length: number, letter: string]

function both(ms: number, [large, largeLetter]: Unit, [small, smallLetter]: Unit): string {
  const rest = Math.trunc((ms % large) / small)
  return `${Math.trunc(ms / large)}${largeLetter}${rest === 0 ? '' : `${rest}${smallLetter}`}`
}
