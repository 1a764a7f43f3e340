import type { PendingWork } from '@csi-sidecars/controller'
import type { EventTarget } from '@csi-sidecars/events'
import type { Event } from '@csi-sidecars/kube-types'

/** The events about one object whose attach or detach fails. */
export interface FailureSeries {
  /** The time of the next event of this series. */
  nextEventAt: number
  /** The time of the last event of this series; 0 if there was none. */
  reportedAt: number
  /** The number of tries and the message in the last event of this series. */
  tries: number
  message: string | undefined
  /** The last Event about the attachment, and the last Event about the claim. */
  readonly events: Map<'attachment' | 'claim', Event>
  /** The volume's PersistentVolumeClaim. Null: the volume has none. Undefined: not read yet. */
  claim: EventTarget | null | undefined
}

/** The shortest time between two events about one object. */
export const PERIOD_MS = 60_000
/**
 * The age at which failing work gets its first event. The attach/detach controller writes an event on the pod at once,
 * and most failures end within this time.
 */
export const QUIET_MS = 10_000

/** A failing attach or detach, and the series of its events. */
export interface DueEvent {
  readonly work: PendingWork
  readonly series: FailureSeries
}

/** The events of one scan, and the number of those left out. */
export interface SelectedEvents {
  /** The events to write, up to the limit. Objects with the oldest event come first. */
  readonly chosen: readonly DueEvent[]
  /** The number of events that were due for a whole minute and not chosen. */
  readonly skipped: number
}

/** The series of events of all failing objects. An object that no longer fails has no series. */
export class FailureSeriesTable {
  readonly #series = new Map<string, FailureSeries>()

  /** Begins a choice of at most `maxEvents` events. The events are due at `now`. */
  select(now: number, maxEvents: number): EventSelection {
    return new EventSelection(this.#series, now, maxEvents)
  }

  /** Reports whether the object of a chosen event still fails. */
  stillFails({ work, series }: DueEvent): boolean {
    return this.#series.get(idOf(work)) === series
  }

  /** Removes and returns the events of an object that has recovered. Returns undefined if no event was written. */
  take(work: Pick<PendingWork, 'operation' | 'object'>): FailureSeries | undefined {
    const id = idOf(work)
    const series = this.#series.get(id)
    this.#series.delete(id)
    return series === undefined || series.reportedAt === 0 ? undefined : series
  }

  get size(): number {
    return this.#series.size
  }
}

/** Chooses the due events of all pending work. The caller adds the work in batches and can pause between them. */
class EventSelection {
  readonly #series: Map<string, FailureSeries>
  readonly #now: number
  readonly #maxEvents: number
  readonly #failing = new Set<string>()
  /** The events to write for the pending work that was added so far. The oldest last event comes first. */
  readonly #chosen: DueEvent[] = []
  #skipped = 0

  constructor(series: Map<string, FailureSeries>, now: number, maxEvents: number) {
    this.#series = series
    this.#now = now
    this.#maxEvents = maxEvents
  }

  add(work: PendingWork): void {
    const id = idOf(work)
    if (!isReported(work, this.#now) || this.#failing.has(id)) return
    this.#failing.add(id)
    const series = this.#seriesOf(id)
    const hasChanged = series.reportedAt === 0 || series.tries !== work.tries || series.message !== work.message
    if (series.nextEventAt <= this.#now && hasChanged) this.#insert({ work, series })
  }

  /** Returns the chosen events, and drops the series of objects that no longer fail. */
  result(): SelectedEvents {
    for (const id of this.#series.keys()) {
      if (!this.#failing.has(id)) this.#series.delete(id)
    }
    return { chosen: this.#chosen, skipped: this.#skipped }
  }

  #insert(event: DueEvent): void {
    const behind = this.#chosen.findIndex((other) => isBefore(event, other))
    this.#chosen.splice(behind < 0 ? this.#chosen.length : behind, 0, event)
    const last = this.#chosen.length > this.#maxEvents ? this.#chosen.pop() : undefined
    if (last !== undefined) this.#skip(last.series)
  }

  /** Counts a due event that was not chosen, at most once a minute for each object. */
  #skip(series: FailureSeries): void {
    if (this.#now - series.nextEventAt < PERIOD_MS) return
    series.nextEventAt += PERIOD_MS
    this.#skipped += 1
  }

  #seriesOf(id: string): FailureSeries {
    const known = this.#series.get(id)
    if (known !== undefined) return known
    const nextEventAt = this.#now
    const series = { nextEventAt, reportedAt: 0, tries: 0, message: undefined, events: new Map(), claim: undefined }
    this.#series.set(id, series)
    return series
  }
}

function isBefore(a: DueEvent, b: DueEvent): boolean {
  const [before, after] = [a.series.reportedAt, b.series.reportedAt]
  return before === after ? a.work.since < b.work.since : before < after
}

function isReported({ operation, object, message, since }: PendingWork, now: number): boolean {
  if (object?.kind !== 'VolumeAttachment' || message === undefined) return false
  return (operation === 'attach' || operation === 'detach') && now - since >= QUIET_MS
}

function idOf({ operation, object }: Pick<PendingWork, 'operation' | 'object'>): string {
  return `${operation} ${object?.uid}`
}
