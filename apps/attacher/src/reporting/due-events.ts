import type { Clock } from '@csi-sidecars/base'
import { EventDeduplicator, type PendingWork } from '@csi-sidecars/controller'
import type { EventTarget } from '@csi-sidecars/events'
import type { Event } from '@csi-sidecars/kube-types'

/** The recorded events about one object whose attach or detach fails. */
export interface FailureSeries {
  /** The time of the last event, in milliseconds since 1970. */
  recordedAt: number
  /** The number of tries in the last event. */
  tries: number
  /** The last Event about the attachment, and the last Event about the claim. */
  readonly events: Map<'attachment' | 'claim', Event>
  /** The volume's PersistentVolumeClaim. Null: the volume has none. Undefined: not read yet. */
  claim: EventTarget | null | undefined
}

/** The shortest time between two events about one object. */
export const MIN_EVENT_INTERVAL_MS = 60_000
/**
 * The age at which failing work gets its first event. The attach/detach controller writes an event on the pod at once,
 * and most failures end within this time.
 */
export const FIRST_EVENT_AFTER_MS = 10_000

/** The events of one selection, and the number of skipped events. */
export interface SelectedEvents {
  /** The work to write events about, up to the limit. Objects with the oldest event come first. */
  readonly chosen: readonly PendingWork[]
  /** The number of objects whose event has been due for a further whole minute and was not chosen. */
  readonly skipped: number
}

/**
 * The series of events of all failing objects.
 *
 * Guarantees: `EventDeduplicator` decides which events are due. If more are due than may be written, each object gets an
 * event in turn. An object that no longer fails uses no memory.
 */
export class FailureSeriesTable {
  readonly #clock: Clock
  readonly #deduplicator: EventDeduplicator
  /** The series of objects with a recorded event. */
  readonly #series = new Map<string, FailureSeries>()
  /** The objects that failed at the last selection and have not recovered since. */
  #failing: Set<string> = new Set()
  #lastSelectionAt: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#deduplicator = new EventDeduplicator({ clock, minIntervalMs: MIN_EVENT_INTERVAL_MS })
  }

  /** Begins a choice of at most `maxEvents` events among the due events. */
  select(maxEvents: number): EventSelection {
    const now = this.#clock.now()
    const lastSelectionAt = this.#lastSelectionAt ?? now
    this.#lastSelectionAt = now
    return new EventSelection({
      now,
      lastSelectionAt,
      maxEvents,
      isDue: (work) => this.#deduplicator.isDue(idOf(work), failedTryOf(work)),
      recordedAt: (work) => this.#series.get(idOf(work))?.recordedAt,
      onResult: (failing) => this.#retain(failing),
    })
  }

  /** Reports whether the object of a chosen event still fails. */
  stillFails(work: PendingWork): boolean {
    return this.#failing.has(idOf(work))
  }

  /** Records an event that is about to be written. Returns its series. */
  record(work: PendingWork): FailureSeries {
    const id = idOf(work)
    const series = this.#series.get(id) ?? { recordedAt: 0, tries: 0, events: new Map(), claim: undefined }
    this.#series.set(id, Object.assign(series, { recordedAt: this.#clock.now(), tries: work.tries }))
    this.#deduplicator.record(id, failedTryOf(work))
    return series
  }

  /** Removes and returns the events of an object that has recovered. Returns undefined if no event was recorded. */
  removeSeries(work: Pick<PendingWork, 'operation' | 'object'>): FailureSeries | undefined {
    const id = idOf(work)
    const series = this.#series.get(id)
    this.#failing.delete(id)
    this.#forget(id)
    return series
  }

  get size(): number {
    return this.#series.size
  }

  /** Drops the series of objects that no longer fail. */
  #retain(failing: Set<string>): void {
    this.#failing = failing
    for (const id of this.#series.keys()) if (!failing.has(id)) this.#forget(id)
  }

  #forget(id: string): void {
    this.#series.delete(id)
    this.#deduplicator.forget(id)
  }
}

interface SelectionOptions {
  readonly now: number
  /** The time of the last selection; `now` for the first one. */
  readonly lastSelectionAt: number
  readonly maxEvents: number
  readonly isDue: (work: PendingWork) => boolean
  /** Returns the time of the last event about the object, if any. */
  readonly recordedAt: (work: PendingWork) => number | undefined
  /** Called with the IDs of all failing objects. */
  readonly onResult: (failing: Set<string>) => void
}

/** Chooses the due events of all pending work. The caller adds the work in batches and can pause between them. */
class EventSelection {
  readonly #options: SelectionOptions
  readonly #failing = new Set<string>()
  /** The work to write events about, among the work that was added so far. The oldest last event comes first. */
  readonly #chosen: PendingWork[] = []
  #skipped = 0

  constructor(options: SelectionOptions) {
    this.#options = options
  }

  add(work: PendingWork): void {
    const id = idOf(work)
    if (!isReported(work, this.#options.now) || this.#failing.has(id)) return
    this.#failing.add(id)
    if (this.#options.isDue(work)) this.#insert(work)
  }

  /** Returns the chosen events, and ends the selection. */
  result(): SelectedEvents {
    this.#options.onResult(this.#failing)
    return { chosen: this.#chosen, skipped: this.#skipped }
  }

  #insert(work: PendingWork): void {
    const behind = this.#chosen.findIndex((other) => this.#isBefore(work, other))
    this.#chosen.splice(behind < 0 ? this.#chosen.length : behind, 0, work)
    const last = this.#chosen.length > this.#options.maxEvents ? this.#chosen.pop() : undefined
    if (last !== undefined && this.#hasWaitedAnotherMinute(last)) this.#skipped += 1
  }

  #isBefore(a: PendingWork, b: PendingWork): boolean {
    const { recordedAt } = this.#options
    const [before, after] = [recordedAt(a) ?? 0, recordedAt(b) ?? 0]
    return before === after ? a.since < b.since : before < after
  }

  /** Reports whether a further minute without an event has passed since the last selection. */
  #hasWaitedAnotherMinute(work: PendingWork): boolean {
    const { now, lastSelectionAt, recordedAt } = this.#options
    const last = recordedAt(work)
    const dueAt = last === undefined ? work.since + FIRST_EVENT_AFTER_MS : last + MIN_EVENT_INTERVAL_MS
    const minutesAt = (time: number): number => Math.floor(Math.max(0, time - dueAt) / MIN_EVENT_INTERVAL_MS)
    return minutesAt(now) > minutesAt(lastSelectionAt)
  }
}

function isReported({ operation, object, message, since }: PendingWork, now: number): boolean {
  if (object?.kind !== 'VolumeAttachment' || message === undefined) return false
  return (operation === 'attach' || operation === 'detach') && now - since >= FIRST_EVENT_AFTER_MS
}

/** Returns the number of tries with the error, so that each further try changes the event, even if its error repeats. */
function failedTryOf({ tries, message }: PendingWork): string {
  return `${tries} ${message}`
}

function idOf({ operation, object }: Pick<PendingWork, 'operation' | 'object'>): string {
  return `${operation} ${object?.uid}`
}
