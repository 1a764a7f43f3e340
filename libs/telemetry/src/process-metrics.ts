import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { type Clock, systemCodeOf } from '@csi-sidecars/base'
import type { Metrics, ReadingSpec } from './metrics.ts'

/** Detects a blocked event loop with a timer that fires every five seconds. */
export interface EventLoopWatch {
  /** The milliseconds by which the next firing of the timer is overdue, or 0. */
  overdueMs(): number
  stop(): void
}

/** Returns the start time of the process in seconds since 1970. */
export function processStartSeconds(): number {
  return performance.timeOrigin / 1000
}

/**
 * Registers the `process_*` metrics of the Prometheus clients and a few `nodejs_*` metrics. They are measured only when
 * the metrics are read. Metrics that need `proc` are omitted if it does not exist.
 */
export function registerProcessMetrics(metrics: Metrics, proc = '/proc/self'): void {
  for (const reading of [...processReadings(), ...procReadings(proc), ...nodeReadings()]) metrics.addReading(reading)
}

type Reading = readonly [name: string, type: ReadingSpec['type'], help: string, read: () => number | undefined]

function* toSpecs(readings: readonly Reading[]): Generator<ReadingSpec> {
  for (const [name, type, help, read] of readings) yield { name, type, help, read }
}

function processReadings(): Iterable<ReadingSpec> {
  const start = processStartSeconds()
  const cpuSeconds = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  return toSpecs([
    [
      'process_start_time_seconds',
      'gauge',
      '[ALPHA] Start time of the process since unix epoch in seconds.',
      () => start,
    ],
    ['process_cpu_seconds_total', 'counter', 'Total user and system CPU time spent in seconds.', cpuSeconds],
    ['process_resident_memory_bytes', 'gauge', 'Resident memory size in bytes.', () => process.memoryUsage.rss()],
  ])
}

function procReadings(proc: string): Iterable<ReadingSpec> {
  const read = (file: string): string => readIfThere(() => readFileSync(`${proc}/${file}`, 'latin1')) ?? ''
  return toSpecs([
    [
      'process_open_fds',
      'gauge',
      'Number of open file descriptors.',
      () => readIfThere(() => readdirSync(`${proc}/fd`).length),
    ],
    [
      'process_max_fds',
      'gauge',
      'Maximum number of open file descriptors.',
      () => softLimit(read('limits'), 'Max open files'),
    ],
    ['process_virtual_memory_bytes', 'gauge', 'Virtual memory size in bytes.', () => virtualBytes(read('stat'))],
    [
      'process_virtual_memory_max_bytes',
      'gauge',
      'Maximum amount of virtual memory available in bytes.',
      () => softLimit(read('limits'), 'Max address space'),
    ],
    [
      'process_network_receive_bytes_total',
      'counter',
      'Number of bytes received by the process over the network.',
      () => ipBytes(read('net/netstat'), 'InOctets'),
    ],
    [
      'process_network_transmit_bytes_total',
      'counter',
      'Number of bytes sent by the process over the network.',
      () => ipBytes(read('net/netstat'), 'OutOctets'),
    ],
  ])
}

function nodeReadings(): Iterable<ReadingSpec> {
  const { eventLoopUtilization } = performance
  return toSpecs([
    [
      'nodejs_heap_used_bytes',
      'gauge',
      'Bytes of live and not yet collected objects.',
      () => process.memoryUsage().heapUsed,
    ],
    ['nodejs_heap_total_bytes', 'gauge', 'Bytes the heap has taken.', () => process.memoryUsage().heapTotal],
    [
      'nodejs_external_memory_bytes',
      'gauge',
      'Bytes of buffers outside the heap.',
      () => process.memoryUsage().external,
    ],
    [
      'nodejs_eventloop_active_seconds_total',
      'counter',
      'Seconds the event loop spent running code; its rate is the share of one CPU in use.',
      () => eventLoopUtilization().active / 1000,
    ],
  ])
}

/** Returns undefined if the file does not exist or may not be read, so that only its metrics are missing. */
function readIfThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error
    return undefined
  }
}

/** Go's value for an unlimited resource: the largest unsigned 64-bit number. */
const UNLIMITED = 2 ** 64

function softLimit(limits: string, name: string): number | undefined {
  const line = limits.split('\n').find((each) => each.startsWith(name))
  const soft = line?.slice(name.length).trim().split(/\s+/)[0]
  if (soft === undefined) return undefined
  return soft === 'unlimited' ? UNLIMITED : Number(soft)
}

/** Returns the 23rd field of /proc/self/stat. The second field is a name in parentheses with any characters. */
function virtualBytes(stat: string): number | undefined {
  const size = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[20]
  return size === undefined ? undefined : Number(size)
}

/** Reads a value of the file netstat, which has a line of names and then a line of values for each protocol. */
function ipBytes(netstat: string, name: string): number | undefined {
  const [names, values] = netstat.split('\n').filter((line) => line.startsWith('IpExt:'))
  const at = names?.split(' ').indexOf(name) ?? -1
  const value = at < 0 ? undefined : values?.split(' ')[at]
  return value === undefined ? undefined : Number(value)
}

const BEAT_INTERVAL_MS = 5000

/** Starts the timer, and exposes its longest delay since the last exposition as a metric. */
export function watchEventLoop(clock: Clock, metrics: Metrics): EventLoopWatch {
  let nextBeatAt = clock.monotonic() + BEAT_INTERVAL_MS
  let worst = 0
  const overdueMs = (): number => Math.max(clock.monotonic() - nextBeatAt, 0)
  const beat = (): void => {
    worst = Math.max(worst, overdueMs())
    nextBeatAt = clock.monotonic() + BEAT_INTERVAL_MS
    cancel = clock.schedule(BEAT_INTERVAL_MS, beat)
  }
  let cancel = clock.schedule(BEAT_INTERVAL_MS, beat)
  metrics.addReading({
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
