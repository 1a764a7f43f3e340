import type { Clock } from '@csi-sidecars/base'
import type { Metrics } from './metrics.ts'

/** Notices a blocked event loop by a timer every five seconds. */
export interface EventLoopWatch {
  /** How long the current beat is overdue, in milliseconds. */
  overdueMs(): number
  stop(): void
}

const BEAT_MS = 5000

/** Beats until stopped. The longest delay since the last exposition is a metric. */
export function watchEventLoop(clock: Clock, metrics: Metrics): EventLoopWatch {
  let due = clock.monotonic() + BEAT_MS
  let worst = 0
  const overdueMs = (): number => Math.max(clock.monotonic() - due, 0)
  const beat = (): void => {
    worst = Math.max(worst, overdueMs())
    due = clock.monotonic() + BEAT_MS
    cancel = clock.schedule(BEAT_MS, beat)
  }
  let cancel = clock.schedule(BEAT_MS, beat)
  metrics.reading({
    name: 'nodejs_eventloop_lag_max_seconds',
    help: 'Longest delay of the event loop since the last scrape.',
    type: 'gauge',
    read: () => {
      const lag = Math.max(worst, overdueMs())
      worst = 0
      return lag / 1000
    },
  })
  return { overdueMs, stop: () => cancel() }
}
