import type { Clock } from '@csi-sidecars/base'

/**
 * Returns a version 4 UUID from the random numbers of the clock. It ends in `serial`, so UIDs differ even if the clock
 * of a test always returns the same number.
 */
export function newUid(clock: Pick<Clock, 'random'>, serial = 0): string {
  const digit = (below: number): string => Math.floor(clock.random() * below).toString(16)
  const head = 'xxxxxxxx-xxxx-4xxx-yxxx-'.replace(/[xy]/g, (kind) =>
    kind === 'x' ? digit(16) : '89ab'.charAt(Number.parseInt(digit(4), 16)),
  )
  return head + serial.toString(16).padStart(12, '0')
}

const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

/** Returns five random characters for a generated name. They also depend on `serial`. */
export function nameSuffix(clock: Pick<Clock, 'random'>, serial: number): string {
  let suffix = ''
  for (let rest = serial; suffix.length < 5; rest = Math.floor(rest / LETTERS.length)) {
    suffix += LETTERS.charAt((Math.floor(clock.random() * LETTERS.length) + rest) % LETTERS.length)
  }
  return suffix
}
