import { type Clock, inBatches, TokenBucket } from '@csi-sidecars/base'
import type { Backlog, PendingWork, Subject } from '@csi-sidecars/controller'
import { type EventTarget, type EventText, SeriesWriter } from '@csi-sidecars/events'
import { ApiError, isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { PERIOD_MS, type Series, SeriesTable } from './due-events.ts'

/** The name of the Go original, under which pending work and events are reported. */
export const SIDECAR = 'external-attacher'
/** Between two looks at what fails. */
const LOOK_MS = 5_000
/** Event writes in all. */
const WRITES_PER_SECOND = 5
/** Two writes each: the attachment and its claim. */
const OBJECTS_PER_LOOK = Math.floor((WRITES_PER_SECOND * LOOK_MS) / 1000 / 2)
/** More that are well again at once are not reported. */
const MOST_RECOVERED = 500
/** Whether events may be written after all. */
const REFUSED_MS = 10 * 60_000

/** Whether events may be written; lasts as long as the process, so that a refusal is said once. */
export class EventPermission {
  #refusedUntil = Number.NEGATIVE_INFINITY
  #said = false

  isRefused(clock: Clock): boolean {
    return clock.monotonic() < this.#refusedUntil
  }

  refuse(clock: Clock, log: Logger, error: unknown): void {
    this.#refusedUntil = clock.monotonic() + REFUSED_MS
    if (this.#said) return
    this.#said = true
    log.warn('Events about attaching and detaching may not be written', { err: error })
  }
}

/** The texts of the events. */
export interface FailureTexts {
  readonly failed: (work: PendingWork) => EventText
  readonly recovered: (subject: Subject, failures: number) => EventText
}

export interface FailureReporterOptions {
  /** Refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly backlog: Backlog
  readonly permission: EventPermission
  readonly driverName: string
  readonly texts: FailureTexts
  readonly clock: Clock
  readonly log: Logger
}

interface Recovery {
  readonly subject: Subject
  readonly series: Series
}

/**
 * Reports in events which attaches and detaches keep failing, and when they are well again. It looks at what is pending
 * instead of listening to runs, so that no run waits for it, and one failure for ten thousand objects costs no more
 * writes than it may make.
 */
export class FailureReporter {
  readonly #options: FailureReporterOptions
  readonly #writer: SeriesWriter
  readonly #bucket: TokenBucket
  readonly #series = new SeriesTable()
  #recovered: Recovery[] = []

  constructor(options: FailureReporterOptions) {
    const { api: client, clock, driverName } = options
    this.#options = options
    this.#writer = new SeriesWriter({ client, clock, source: { component: `${SIDECAR} ${driverName}` } })
    this.#bucket = new TokenBucket({ clock, qps: WRITES_PER_SECOND, burst: WRITES_PER_SECOND })
  }

  /** What was due for the object is done. */
  completed(subject: Subject): void {
    const series = this.#series.take(subject)
    if (series === undefined) return
    if (this.#recovered.length < MOST_RECOVERED) this.#recovered.push({ subject, series })
    else this.#options.backlog.eventsSkipped(1)
  }

  /** Until stopped. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, permission, log } = this.#options
    while (!stop.aborted) {
      await clock.sleep(LOOK_MS, stop).catch(() => undefined)
      if (stop.aborted || permission.isRefused(clock)) continue
      await this.#look(stop).catch((error: unknown) => {
        if (!stop.aborted) log.v(2)?.info('Events could not be written', { err: error })
      })
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { backlog, clock, texts } = this.#options
    for (const { subject, series } of this.#recovered.splice(0, OBJECTS_PER_LOOK)) {
      const text = texts.recovered(subject, series.tries)
      await this.#write(subject, { series: { ...series, events: new Map() }, text, count: 1, signal })
    }
    const look = this.#series.look(clock.now(), OBJECTS_PER_LOOK)
    const see = (work: PendingWork): void => {
      if (work.sidecar === SIDECAR) look.see(work)
    }
    await inBatches(backlog.pending(), see, { clock, signal })
    const { chosen, skipped } = look.end()
    if (skipped > 0) backlog.eventsSkipped(skipped)
    for (const event of chosen) {
      if (!this.#series.holds(event)) continue
      const { work, series } = event
      const now = clock.now()
      Object.assign(series, { due: now + PERIOD_MS, reportedAt: now, tries: work.tries, message: work.message })
      await this.#write(work, { series, text: texts.failed(work), count: Math.max(1, work.tries), signal })
    }
  }

  /** One event each for the attachment and, where there is one, for the claim behind its volume. */
  async #write(
    subject: Pick<Subject, 'object' | 'volume'>,
    event: { series: Series; text: EventText; count: number; signal: AbortSignal },
  ): Promise<void> {
    const { series, signal } = event
    const { name = '', uid = '' } = subject.object ?? {}
    const attachment = { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', name, uid }
    await this.#writeOne('attachment', attachment, event)
    if (series.claim === undefined) series.claim = await this.#claimOf(subject.volume, signal)
    if (series.claim !== null) await this.#writeOne('claim', series.claim, event)
  }

  async #writeOne(
    which: 'attachment' | 'claim',
    target: EventTarget,
    { series, text, count, signal }: { series: Series; text: EventText; count: number; signal: AbortSignal },
  ): Promise<void> {
    const { permission, clock, log } = this.#options
    if (permission.isRefused(clock)) return
    await this.#bucket.take(signal)
    try {
      const previous = series.events.get(which)
      series.events.set(which, await this.#writer.write({ target, ...text }, { count, previous, signal }))
    } catch (error) {
      signal.throwIfAborted()
      if (isForbidden(error) && !isEnding(error)) permission.refuse(clock, log, error)
      else log.v(2)?.info('An event could not be written', { reason: text.reason, err: error })
    }
  }

  /** Read when it is needed: no cache holds it. Null where there is none, or where it cannot be read. */
  async #claimOf(volume: string | undefined, signal: AbortSignal): Promise<EventTarget | null> {
    if (volume === undefined) return null
    try {
      const { spec } = await this.#options.api.get(PERSISTENT_VOLUMES, { name: volume }, { signal, priority: 'spare' })
      const { namespace, name, uid } = spec?.claimRef ?? {}
      return name === undefined ? null : { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
  }
}

/** The namespace takes nothing new any more. */
function isEnding(error: unknown): boolean {
  return (
    error instanceof ApiError && error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true
  )
}
