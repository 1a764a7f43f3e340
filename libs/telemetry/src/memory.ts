import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '@csi-sidecars/base'
import type { Metrics } from './metrics.ts'

export interface MemoryOptions {
  readonly clock: Clock
  readonly metrics: Metrics
  /** Left to tests. */
  readonly collect?: () => void
  readonly meter?: Meter
}

/** What the process has done since it began, in milliseconds. */
export interface Meter {
  /** The event loop was not waiting. */
  busyMs(): number
  /** Processor time of all threads. */
  cpuMs(): number
}

/** Long enough after the start for its work to be over. */
const FIRST_LOOK_MS = 1_000
const LOOK_MS = 5_000
/** Busy for less than this share of the time: a pause blocks no work. */
const AT_REST = 0.02
/** Processor time since the last collection; the garbage of less work is not worth a pause of some 40 ms. */
const WORTH_MS = 1_000

/**
 * V8 keeps the memory of a start or a burst of work, and code that only they needed, until something makes it collect.
 * So once the process is at rest again, everything is collected once.
 */
export function releaseMemory(options: MemoryOptions): { stop(): void } {
  const { clock, metrics, collect = collectAll, meter = processMeter() } = options
  let collectedAt = Number.NEGATIVE_INFINITY
  let seconds = 0
  let seen = { at: clock.monotonic(), busyMs: meter.busyMs() }
  const look = (): void => {
    const now = { at: clock.monotonic(), busyMs: meter.busyMs() }
    const atRest = now.busyMs - seen.busyMs < AT_REST * (now.at - seen.at)
    seen = now
    if (atRest && meter.cpuMs() - collectedAt > WORTH_MS) {
      collect()
      collectedAt = meter.cpuMs()
      seconds += (clock.monotonic() - now.at) / 1000
      seen = { at: clock.monotonic(), busyMs: meter.busyMs() }
    }
    cancel = clock.schedule(LOOK_MS, look)
  }
  let cancel = clock.schedule(FIRST_LOOK_MS, look)
  metrics.reading({
    name: 'nodejs_memory_giveback_seconds_total',
    help: 'Time that the event loop was blocked to release memory, which is done at rest only.',
    type: 'counter',
    read: () => seconds,
  })
  return { stop: () => cancel() }
}

function processMeter(): Meter {
  return {
    busyMs: () => performance.eventLoopUtilization().active,
    cpuMs: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1000
    },
  }
}

/** All garbage, and the code of functions that are not running; what is needed again is compiled again. */
function collectAll(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  setFlagsFromString('--stress-flush-code')
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  setFlagsFromString('--no-stress-flush-code')
}
