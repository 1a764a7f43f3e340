import { type Clock, exponential } from '@csi-sidecars/base'
import type { Controller } from '@csi-sidecars/controller'

/**
 * A write of ours that another writer has undone. We repeat it at once the first time. If a controller or an admission
 * policy undoes it again and again, our pause doubles each time.
 */
export interface UndoneWrite {
  readonly repeats: number
  /** The earliest time at which the write is repeated, in monotonic milliseconds. */
  readonly untilMs: number
}

interface UndoneOptions {
  readonly backoff: Controller['backoff']
  readonly clock: Clock
}

/** Records that another writer has undone our write. Counts from zero if the last record is older than any back-off. */
export function recordUndone(last: UndoneWrite | undefined, { backoff, clock }: UndoneOptions): UndoneWrite {
  const { baseMs, maxMs } = backoff
  const now = clock.monotonic()
  const repeats = last !== undefined && now <= last.untilMs + maxMs ? last.repeats + 1 : 0
  const pauseMs = repeats === 0 ? 0 : exponential({ initialMs: baseMs, maxMs }, repeats - 1)
  return { repeats, untilMs: now + pauseMs }
}

/** Returns the milliseconds until the write may be repeated; 0 if it may be repeated at once. */
export function undoneWaitMs(undone: UndoneWrite | undefined, clock: Clock): number {
  return undone === undefined ? 0 : Math.max(0, undone.untilMs - clock.monotonic())
}
