import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'

/** The wait before the first search of a leader. It first repeats the calls of an earlier leader. */
const FIRST_SEARCH_MS = 5 * 60_000

/** How often the back end is listed. An error of `search` is logged, and the next period tries again. */
export interface SearchOptions {
  /** The milliseconds between two searches. 0 or less: no searches. */
  readonly intervalMs: number
  /** Lists the back end once. */
  readonly search: (signal: AbortSignal) => Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** Searches the back end for things that no object names, until `stop` is aborted. A failed search is logged. */
export async function searchRegularly(
  { intervalMs, search, clock, log }: SearchOptions,
  stop: AbortSignal,
): Promise<void> {
  if (intervalMs <= 0) return
  let waitMs = Math.min(FIRST_SEARCH_MS, intervalMs)
  while (await sleeps(clock, waitMs, stop)) {
    waitMs = intervalMs
    try {
      await search(stop)
    } catch (error) {
      if (stop.aborted) return
      log.error(error, 'Failed to list the back end for things that no object names')
    }
  }
}

/** Waits. Returns false if `stop` is aborted. */
async function sleeps(clock: Clock, ms: number, stop: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, stop)
    return true
  } catch (error) {
    if (stop.aborted) return false
    throw error
  }
}
