import type { Clock } from '@csi-sidecars/base'
import {
  type Counter,
  type Gauge,
  type Histogram,
  type Metrics,
  WORKQUEUE_ADDS_TOTAL,
  WORKQUEUE_DEPTH,
  WORKQUEUE_LONGEST_RUNNING_PROCESSOR_SECONDS,
  WORKQUEUE_QUEUE_DURATION_SECONDS,
  WORKQUEUE_RETRIES_TOTAL,
  WORKQUEUE_UNFINISHED_WORK_SECONDS,
  WORKQUEUE_WORK_DURATION_SECONDS,
} from '@csi-sidecars/telemetry'

/** Observes one queue, which calls a method when a key is added, starts or ends. */
export interface QueueObserver {
  added(key: string): void
  started(key: string): void
  ended(key: string): void
  /** Called if `markSeen` cancels the further run of a running key. */
  dropped(key: string): void
  retried(): void
  /** Called when the queue is shut down and no key is in work, possibly several times. Waiting keys then never run. */
  retired(): void
}

export const unobserved: QueueObserver = {
  added() {},
  started() {},
  ended() {},
  dropped() {},
  retried() {},
  retired() {},
}

type Label = (typeof WORKQUEUE_DEPTH.labels)[number]

/** The times when keys began to wait and to run. A running key that was added again is in both maps. */
interface Track {
  readonly waitingSince: Map<string, number>
  readonly workingSince: Map<string, number>
}

/**
 * The `workqueue_*` metrics of a process. Each queue gets its observer from `observe`. Queues with the same name share
 * their series, which show the sums.
 */
export class QueueMetrics {
  readonly #clock: Clock
  readonly #tracks = new Map<string, Set<Track>>()
  readonly #adds: Counter<Label>
  readonly #retries: Counter<Label>
  readonly #queueDuration: Histogram<Label>
  readonly #workDuration: Histogram<Label>
  readonly #depth: Gauge<Label>
  readonly #unfinished: Gauge<Label>
  readonly #longestRunning: Gauge<Label>

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    this.#adds = metrics.counter(WORKQUEUE_ADDS_TOTAL)
    this.#retries = metrics.counter(WORKQUEUE_RETRIES_TOTAL)
    this.#depth = metrics.gauge(WORKQUEUE_DEPTH)
    this.#unfinished = metrics.gauge(WORKQUEUE_UNFINISHED_WORK_SECONDS)
    this.#longestRunning = metrics.gauge(WORKQUEUE_LONGEST_RUNNING_PROCESSOR_SECONDS)
    this.#queueDuration = metrics.histogram(WORKQUEUE_QUEUE_DURATION_SECONDS)
    this.#workDuration = metrics.histogram(WORKQUEUE_WORK_DURATION_SECONDS)
    metrics.onCollect(() => this.#collect())
  }

  /** Creates the series before their queues, which a standby creates when it leads. */
  declare(...names: readonly string[]): void {
    for (const name of names) this.#tracksOf(name)
  }

  observe(name: string): QueueObserver {
    const track: Track = { waitingSince: new Map(), workingSince: new Map() }
    const tracks = this.#tracksOf(name).add(track)
    const labels = { name }
    const now = (): number => this.#clock.monotonic()
    return {
      added: (key) => {
        this.#adds.inc(labels)
        track.waitingSince.set(key, now())
      },
      started: (key) => {
        this.#queueDuration.observe(labels, takeSeconds(track.waitingSince, key, now()))
        track.workingSince.set(key, now())
      },
      ended: (key) => this.#workDuration.observe(labels, takeSeconds(track.workingSince, key, now())),
      dropped: (key) => void track.waitingSince.delete(key),
      retried: () => this.#retries.inc(labels),
      retired: () => void tracks.delete(track),
    }
  }

  /** Returns the queues with the name. The first call creates their series. */
  #tracksOf(name: string): Set<Track> {
    const present = this.#tracks.get(name)
    if (present !== undefined) return present
    const tracks = new Set<Track>()
    this.#tracks.set(name, tracks)
    const labels = { name }
    this.#adds.inc(labels, 0)
    this.#retries.inc(labels, 0)
    this.#queueDuration.createAtZero(labels)
    this.#workDuration.createAtZero(labels)
    return tracks
  }

  /** Updates the gauges. Series of ended queues stay at 0. */
  #collect(): void {
    const now = this.#clock.monotonic()
    for (const [name, tracks] of this.#tracks) {
      let depth = 0
      let unfinished = 0
      let longestRunning = 0
      for (const { waitingSince, workingSince } of tracks) {
        depth += waitingSince.size
        for (const since of workingSince.values()) {
          const age = (now - since) / 1000
          unfinished += age
          longestRunning = Math.max(longestRunning, age)
        }
      }
      this.#depth.set({ name }, depth)
      this.#unfinished.set({ name }, unfinished)
      this.#longestRunning.set({ name }, longestRunning)
    }
  }
}

/** Removes the key from the map, and returns for how many seconds it was there. */
function takeSeconds(sinceByKey: Map<string, number>, key: string, now: number): number {
  const since = sinceByKey.get(key) ?? now
  sinceByKey.delete(key)
  return (now - since) / 1000
}
