import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '@csi-sidecars/base'
import type { Metrics } from './metrics.ts'

/** How far the caches of a process are: `filling` while objects arrive. */
export type CacheProgress = 'waiting' | 'filling' | 'filled'

export interface MemoryOptions {
  readonly clock: Clock
  readonly metrics: Metrics
  caches(): CacheProgress
  /** Left to tests. */
  readonly engine?: Engine
  readonly meter?: Meter
}

export interface Engine {
  /** Collects all garbage. */
  collect(): void
  /** From now on the heap is collected once it has grown by this much. */
  collectAfterGrowth(percent: number): void
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
/** A start leaves much in the heap that is garbage soon. */
const START_PERCENT = 60
/**
 * While caches fill, nearly all that is new stays: marking it again after each fifth takes a quarter of the processor time
 * of a large list, and saves no memory at its peak. Afterwards garbage is what makes the heap grow.
 */
const FILLING_PERCENT = 300
/** How soon it is seen that objects arrive. */
const FILLING_LOOK_MS = 250
const STEADY_PERCENT = 20
/** Processor time since the last collection; the garbage of less work is not worth a pause of some 40 ms. */
const WORTH_MS = 1_000

/**
 * V8 keeps the memory of a start or a burst of work, and code that only they needed, until something makes it collect.
 * So once the process is at rest again, everything is collected once. The heap grows freely while the caches fill.
 */
export function releaseMemory(options: MemoryOptions): { stop(): void } {
  const { clock, metrics, caches, engine = V8, meter = processMeter() } = options
  engine.collectAfterGrowth(START_PERCENT)
  let starting = true
  let collectedAt = Number.NEGATIVE_INFINITY
  let seconds = 0
  let seen = { at: clock.monotonic(), busyMs: meter.busyMs() }
  const look = (): void => {
    const now = { at: clock.monotonic(), busyMs: meter.busyMs() }
    const atRest = now.busyMs - seen.busyMs < AT_REST * (now.at - seen.at)
    seen = now
    if (starting && (atRest || caches() === 'filled')) {
      engine.collectAfterGrowth(STEADY_PERCENT)
      starting = false
    }
    if (atRest && meter.cpuMs() - collectedAt > WORTH_MS) {
      engine.collect()
      collectedAt = meter.cpuMs()
      seconds += (clock.monotonic() - now.at) / 1000
      seen = { at: clock.monotonic(), busyMs: meter.busyMs() }
    }
    cancel = clock.schedule(LOOK_MS, look)
  }
  const lookForObjects = (): void => {
    if (!starting) return
    if (caches() === 'filling') engine.collectAfterGrowth(FILLING_PERCENT)
    else cancelLook = clock.schedule(FILLING_LOOK_MS, lookForObjects)
  }
  let cancelLook = clock.schedule(FILLING_LOOK_MS, lookForObjects)
  let cancel = clock.schedule(FIRST_LOOK_MS, look)
  metrics.reading({
    name: 'nodejs_memory_giveback_seconds_total',
    help: 'Time that the event loop was blocked to release memory, which is done at rest only.',
    type: 'counter',
    read: () => seconds,
  })
  const stop = (): void => {
    cancelLook()
    cancel()
  }
  return { stop }
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

const V8: Engine = {
  /** Also the code of functions that are not running; what is needed again is compiled again. */
  collect() {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as NodeJS.GCFunction
    setFlagsFromString('--no-expose-gc')
    setFlagsFromString('--stress-flush-code')
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    setFlagsFromString('--no-stress-flush-code')
  },
  collectAfterGrowth(percent) {
    setFlagsFromString(`--heap-growing-percent=${percent}`)
  },
}
