import type { LastEvent, Wait } from './wire.ts'

/** The time of an event has no milliseconds, and it arrives a little later. */
const EVENT_PRECISION_MS = 2000

/** Reports whether an event still matters. A warning that is older than all current waits is over. */
export function stillHolds({ said }: LastEvent, waits: readonly Wait[]): boolean {
  if (said.bad !== true) return true
  return waits.some(({ level, since }) => level !== 'works' && since <= said.at + EVENT_PRECISION_MS)
}
