import { type Clock, inBatches } from '@csi-sidecars/base'
import {
  type Counter,
  DRIVER_IN_FLIGHT_LIMIT,
  EVENTS_SKIPPED_TOTAL,
  type Gauge,
  type Histogram,
  type Metrics,
  PENDING_WORK,
  PENDING_WORK_OLDEST_SECONDS,
  STUCK_WORK,
  WORK_SECONDS,
  WORK_WAIT_SECONDS,
} from '@csi-sidecars/telemetry'
import type { Operation, Reason } from '@csi-sidecars/waits'
import type { PendingWork } from './pending.ts'

/** The numbers of waiting and of running keys of a queue. */
export interface QueueDepth {
  readonly waiting: number
  readonly inWork: number
}

interface PendingSeries {
  readonly operation: Operation
  readonly state: string
  readonly reason: Reason
  count: number
  stuck: number
  oldest: number
}

type WorkLabel = (typeof WORK_SECONDS.labels)[number]

/** The clock and the metrics of the pending work of a driver. */
export interface BacklogOptions {
  readonly driver: string
  readonly clock: Clock
  readonly metrics: Metrics
}

/**
 * The pending work of all controllers of a process, for metrics and reports. It stores nothing: each read makes the
 * controllers list their pending keys.
 */
export class Backlog {
  /** The name of the CSI driver. */
  readonly driver: string
  readonly #clock: Clock
  readonly #sources = new Set<() => Iterable<PendingWork>>()
  readonly #work: Histogram<WorkLabel>
  readonly #wait: Histogram<WorkLabel>
  readonly #skipped: Counter<'driver_name'>
  readonly #limit: Gauge<'driver_name' | 'name'>

  constructor({ driver, clock, metrics }: BacklogOptions) {
    this.driver = driver
    this.#clock = clock
    this.#work = metrics.histogram(WORK_SECONDS)
    this.#wait = metrics.histogram(WORK_WAIT_SECONDS)
    this.#skipped = metrics.counter(EVENTS_SKIPPED_TOTAL)
    this.#limit = metrics.gauge(DRIVER_IN_FLIGHT_LIMIT)
    let series: readonly PendingSeries[] = []
    metrics.onCollect(async () => {
      series = await this.#series()
    })
    const of = (value: (each: PendingSeries) => number) => () =>
      series.map((each) => ({ labels: this.#labels(each), value: value(each) }))
    metrics.addSeries({ ...PENDING_WORK, read: of(({ count }) => count) })
    metrics.addSeries({
      ...PENDING_WORK_OLDEST_SECONDS,
      read: of(({ oldest }) => (this.#clock.now() - oldest) / 1000),
    })
    metrics.addSeries({ ...STUCK_WORK, read: () => this.#stuck(series) })
  }

  /** Adds the pending work of a controller. The returned function removes it. */
  join(source: () => Iterable<PendingWork>): () => void {
    this.#sources.add(source)
    return () => this.#sources.delete(source)
  }

  /** Lists the pending work of all controllers, in no particular order. */
  *pending(): Generator<PendingWork> {
    for (const source of this.#sources) yield* source()
  }

  /** Returns the pending work of all controllers. Reads it in batches, so that it does not block the event loop. */
  async all(): Promise<readonly PendingWork[]> {
    const all: PendingWork[] = []
    await inBatches(this.pending(), (work) => all.push(work), { clock: this.#clock })
    return all
  }

  /** Returns the depth of each queue that is not empty, by name. */
  async depths(signal: AbortSignal): Promise<ReadonlyMap<string, QueueDepth>> {
    const depths = new Map<string, { waiting: number; inWork: number }>()
    const count = ({ queue, state }: PendingWork): void => {
      if (queue === undefined) return
      const depth = depths.get(queue) ?? { waiting: 0, inWork: 0 }
      depths.set(queue, depth)
      if (state === 'queued' || state === 'waiting' || state === 'backoff') depth.waiting += 1
      else depth.inWork += 1
    }
    await inBatches(this.pending(), count, { clock: this.#clock, signal })
    return depths
  }

  /** Records in a metric how long work was due before its first run. */
  recordBegin(operation: Operation, ageMs: number): void {
    this.#wait.observe({ driver_name: this.driver, operation }, ageMs / 1000)
  }

  /** Records in a metric how long work took since it was due. */
  recordCompletion(operation: Operation, ageMs: number): void {
    this.#work.observe({ driver_name: this.driver, operation }, ageMs / 1000)
  }

  /** Records in a metric how many keys of a queue may run. */
  recordLimit(queue: string, limit: number): void {
    this.#limit.set({ driver_name: this.driver, name: queue }, limit)
  }

  /** Counts Kubernetes Events about failing work that were not sent. */
  recordSkippedEvents(count: number): void {
    this.#skipped.inc({ driver_name: this.driver }, count)
  }

  async #series(): Promise<readonly PendingSeries[]> {
    const series = new Map<string, PendingSeries>()
    const count = ({ operation, state, reason, since, stuck }: PendingWork): void => {
      const id = `${operation} ${state} ${reason}`
      const line = series.get(id) ?? { operation, state, reason, count: 0, stuck: 0, oldest: since }
      series.set(id, line)
      line.count += 1
      if (stuck) line.stuck += 1
      line.oldest = Math.min(line.oldest, since)
    }
    await inBatches(this.pending(), count, { clock: this.#clock })
    return [...series.values()]
  }

  #labels({ operation, state, reason }: PendingSeries): Readonly<Record<string, string>> {
    return { driver_name: this.driver, operation, state, reason }
  }

  /** Adds up the stuck work of all states, for each operation and reason. */
  #stuck(series: readonly PendingSeries[]): Iterable<{ labels: Readonly<Record<string, string>>; value: number }> {
    const sums = new Map<string, { labels: Readonly<Record<string, string>>; value: number }>()
    for (const { operation, reason, stuck } of series) {
      const id = `${operation} ${reason}`
      const sum = sums.get(id) ?? { labels: { driver_name: this.driver, operation, reason }, value: 0 }
      sums.set(id, sum)
      sum.value += stuck
    }
    return sums.values()
  }
}
