import type { Clock } from '@csi-sidecars/base'

/** The last microsecond of a millisecond. */
const LAST = 0.999

/**
 * Wall time in milliseconds with microseconds behind the point: the clock's whole milliseconds, subdivided by its
 * monotonic side, so that lines of one millisecond keep their order. Never leaves the millisecond of the wall clock.
 */
export function preciseTime(clock: Clock): () => number {
  let offset = clock.now() - clock.monotonic()
  return () => {
    const whole = clock.now()
    const monotonic = clock.monotonic()
    const fraction = monotonic + offset - whole
    if (fraction >= 0 && fraction < 1) return whole + Math.min(Math.round(fraction * 1000) / 1000, LAST)
    const nearest = fraction >= 1 && fraction < 2 ? LAST : 0
    offset = whole + nearest - monotonic
    return whole + nearest
  }
}
