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
/** Busy for less than this part of the time: nothing waits that a pause could hold up. */
const AT_REST = 0.02
/** What is collected has been left behind by work; less of it is not worth a pause of some 40 ms. */
const WORTH_MS = 1_000

/**
 * V8 keeps what a start or a storm has made it allocate, and the code that only they needed, for as long as nothing
 * makes it look again. So once they are over, and the process is at rest, everything is collected one time.
 */
export function giveBackMemory(options: MemoryOptions): { stop(): void } {
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
    help: 'Time that the event loop stood still to give memory back, which is done at rest only.',
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
