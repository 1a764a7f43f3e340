import { type Clock, inBatches, TokenBucket } from '@csi-sidecars/base'
import type { Backlog, PendingWork, WorkSubject } from '@csi-sidecars/controller'
import { type EventTarget, type EventText, RepeatedEventWriter } from '@csi-sidecars/events'
import { ApiError, isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type FailureSeries, FailureSeriesTable } from './due-events.ts'

/** The reasons and messages of the events about failures and recoveries. */
export interface FailureTexts {
  readonly failed: (work: PendingWork) => EventText
  readonly recovered: (subject: WorkSubject, failures: number) => EventText
}

/** The pending work to report in events, and the means to write the events. */
export interface FailureReporterOptions {
  /** A client that refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly backlog: Backlog
  readonly permission: EventPermission
  readonly driverName: string
  readonly texts: FailureTexts
  readonly clock: Clock
  readonly log: Logger
}

/** The name of the attacher in events and in reports of pending work. It is the name of the Go attacher. */
export const SIDECAR = 'external-attacher'
/** The pause between two checks for failing work. */
const SCAN_INTERVAL_MS = 5_000
/** The limit of event writes, for all objects together. */
const WRITES_PER_SECOND = 5
/** Each object needs two writes: for the attachment and for its claim. */
const OBJECTS_PER_SCAN = Math.floor((WRITES_PER_SECOND * SCAN_INTERVAL_MS) / 1000 / 2)
/** The limit of recoveries whose events are not written yet. Further recoveries get no event. */
const MAX_RECOVERED = 500
/** The pause after the API server has refused an event. */
const PAUSE_AFTER_REFUSAL_MS = 10 * 60_000

/** Remembers, even after a lost lease, that the API server refuses events, so that the refusal is logged once. */
export class EventPermission {
  #refusedUntil = Number.NEGATIVE_INFINITY
  #logged = false

  isRefused(clock: Clock): boolean {
    return clock.monotonic() < this.#refusedUntil
  }

  refuse(clock: Clock, log: Logger, error: unknown): void {
    this.#refusedUntil = clock.monotonic() + PAUSE_AFTER_REFUSAL_MS
    if (this.#logged) return
    this.#logged = true
    log.warn('Events about attaching and detaching may not be written', { err: error })
  }
}

interface Recovery {
  readonly subject: WorkSubject
  readonly series: FailureSeries
}

/**
 * Writes events about attaches and detaches that keep failing, and about their recovery.
 *
 * Guarantees: attaches and detaches never wait for an event. Even if ten thousand objects fail, at most
 * `WRITES_PER_SECOND` events are written, and the objects whose last event is oldest come first. The count of an event is
 * the number of tries.
 *
 * Caveats: it is no `Recorder`, which counts events and not tries, and which writes events in the order of their failures.
 * `EventDeduplicator` decides which events are due, as in the other sidecars.
 *
 * Errors: an event that cannot be written is logged and dropped. After a refusal no event is written for ten minutes.
 */
export class FailureReporter {
  readonly #options: FailureReporterOptions
  readonly #writer: RepeatedEventWriter
  readonly #bucket: TokenBucket
  readonly #series: FailureSeriesTable
  #recovered: Recovery[] = []

  constructor(options: FailureReporterOptions) {
    const { api: client, clock, driverName } = options
    this.#options = options
    this.#series = new FailureSeriesTable(clock)
    this.#writer = new RepeatedEventWriter({ client, clock, component: `${SIDECAR} ${driverName}` })
    this.#bucket = new TokenBucket({ clock, qps: WRITES_PER_SECOND, burst: WRITES_PER_SECOND })
  }

  /** Schedules a recovery event after a success, if a failure event was written. */
  completed(subject: WorkSubject): void {
    const series = this.#series.removeSeries(subject)
    if (series === undefined) return
    if (this.#recovered.length < MAX_RECOVERED) this.#recovered.push({ subject, series })
    else this.#options.backlog.recordSkippedEvents(1)
  }

  /** Writes events until `stop` is aborted. */
  async run(stop: AbortSignal): Promise<void> {
    const { clock, permission, log } = this.#options
    while (!stop.aborted) {
      await clock.sleep(SCAN_INTERVAL_MS, stop).catch(() => undefined)
      if (stop.aborted || permission.isRefused(clock)) continue
      await this.#scan(stop).catch((error: unknown) => {
        if (!stop.aborted) log.v(2)?.info('Events could not be written', { err: error })
      })
    }
  }

  async #scan(signal: AbortSignal): Promise<void> {
    const { backlog, clock, texts } = this.#options
    for (const { subject, series } of this.#recovered.splice(0, OBJECTS_PER_SCAN)) {
      const text = texts.recovered(subject, series.tries)
      await this.#write(subject, { series: { ...series, events: new Map() }, text, count: 1, signal })
    }
    const selection = this.#series.select(OBJECTS_PER_SCAN)
    const addWork = (work: PendingWork): void => {
      if (work.sidecar === SIDECAR) selection.add(work)
    }
    await inBatches(backlog.pending(), addWork, { clock, signal })
    const { chosen, skipped } = selection.result()
    if (skipped > 0) backlog.recordSkippedEvents(skipped)
    for (const work of chosen) {
      if (!this.#series.stillFails(work)) continue
      const series = this.#series.record(work)
      await this.#write(work, { series, text: texts.failed(work), count: Math.max(1, work.tries), signal })
    }
  }

  /** Writes an event for the attachment, and one for the claim of its volume if there is a claim. */
  async #write(
    subject: Pick<WorkSubject, 'object' | 'volume'>,
    event: { series: FailureSeries; text: EventText; count: number; signal: AbortSignal },
  ): Promise<void> {
    const { series, signal } = event
    const { name = '', uid = '' } = subject.object ?? {}
    const attachment = { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', name, uid }
    await this.#writeOne('attachment', attachment, event)
    if (series.claim === undefined) series.claim = await this.#claimOf(subject.volume, signal)
    if (series.claim !== null) await this.#writeOne('claim', series.claim, event)
  }

  async #writeOne(
    recipient: 'attachment' | 'claim',
    target: EventTarget,
    { series, text, count, signal }: { series: FailureSeries; text: EventText; count: number; signal: AbortSignal },
  ): Promise<void> {
    const { permission, clock, log } = this.#options
    if (permission.isRefused(clock)) return
    await this.#bucket.acquire(signal)
    try {
      const previous = series.events.get(recipient)
      series.events.set(recipient, await this.#writer.write({ target, ...text }, { count, previous, signal }))
    } catch (error) {
      signal.throwIfAborted()
      if (isForbidden(error) && !isNamespaceTerminating(error)) permission.refuse(clock, log, error)
      else log.v(2)?.info('An event could not be written', { reason: text.reason, err: error })
    }
  }

  /** Reads the name of the claim from the PersistentVolume, because it is not cached. Null if there is no claim. */
  async #claimOf(volume: string | undefined, signal: AbortSignal): Promise<EventTarget | null> {
    if (volume === undefined) return null
    try {
      const { spec } = await this.#options.api.get(
        PERSISTENT_VOLUMES,
        { name: volume },
        { signal, priority: 'background' },
      )
      const { namespace, name, uid } = spec?.claimRef ?? {}
      return name === undefined ? null : { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
  }
}

/** Reports whether the API server refused an event because the namespace of the event is being deleted. */
function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof ApiError && error.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true
  )
}
