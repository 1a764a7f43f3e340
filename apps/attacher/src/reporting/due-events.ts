import type { PendingWork } from '@csi-sidecars/controller'
import type { EventTarget } from '@csi-sidecars/events'
import type { Event } from '@csi-sidecars/kube-types'

/** What is reported of an object whose attach or detach fails. */
export interface FailureSeries {
  /** When its next event is due. */
  due: number
  /** When it was reported last; 0: never. */
  reportedAt: number
  /** The tries and words that were reported last. */
  tries: number
  message: string | undefined
  /** By the object that they are about, which has one each. */
  readonly events: Map<'attachment' | 'claim', Event>
  /** The claim behind the volume; null: none. */
  claim: EventTarget | null | undefined
}

/** One event for each object a minute. */
export const PERIOD_MS = 60_000
/**
 * Work that is younger is not reported: the attach/detach controller writes an event on its pod at once, a single
 * failure is mostly the last, and failures that recover within ten seconds produce no event.
 */
export const QUIET_MS = 10_000

/** Work that is to be reported, in its series. */
export interface DueEvent {
  readonly work: PendingWork
  readonly series: FailureSeries
}

export interface DueEvents {
  /** As many as may be reported, those that were reported longest ago first. */
  readonly chosen: readonly DueEvent[]
  /** Events that were due for a whole period and were not reported. */
  readonly skipped: number
}

/** What is reported of the objects that fail; an object that fails no more has no series. */
export class FailureSeriesTable {
  readonly #series = new Map<string, FailureSeries>()

  /** What is to be reported now: begins a look at what is pending. */
  look(now: number, most: number): DueLook {
    return new DueLook(this.#series, now, most)
  }

  /** Whether the object still fails, as far as is known, since it was chosen. */
  holds({ work, series }: DueEvent): boolean {
    return this.#series.get(idOf(work)) === series
  }

  /** Takes the series of an object that is well again; undefined where nothing was reported. */
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

/** One look at all that is pending, piece by piece: between two pieces others may work. */
class DueLook {
  readonly #series: Map<string, FailureSeries>
  readonly #now: number
  readonly #most: number
  readonly #failing = new Set<string>()
  /** The first ones of those seen so far, in order. */
  readonly #chosen: DueEvent[] = []
  #skipped = 0

  constructor(series: Map<string, FailureSeries>, now: number, most: number) {
    this.#series = series
    this.#now = now
    this.#most = most
  }

  see(work: PendingWork): void {
    const id = idOf(work)
    if (!isReported(work, this.#now) || this.#failing.has(id)) return
    this.#failing.add(id)
    const series = this.#of(id)
    const isNews = series.reportedAt === 0 || series.tries !== work.tries || series.message !== work.message
    if (series.due <= this.#now && isNews) this.#choose({ work, series })
  }

  /** Forgets whatever is pending no more. */
  end(): DueEvents {
    for (const id of this.#series.keys()) if (!this.#failing.has(id)) this.#series.delete(id)
    return { chosen: this.#chosen, skipped: this.#skipped }
  }

  #choose(event: DueEvent): void {
    const behind = this.#chosen.findIndex((other) => isBefore(event, other))
    this.#chosen.splice(behind < 0 ? this.#chosen.length : behind, 0, event)
    const last = this.#chosen.length > this.#most ? this.#chosen.pop() : undefined
    if (last !== undefined) this.#skip(last.series)
  }

  /** Counts once for each period. */
  #skip(series: FailureSeries): void {
    if (this.#now - series.due < PERIOD_MS) return
    series.due += PERIOD_MS
    this.#skipped += 1
  }

  #of(id: string): FailureSeries {
    const known = this.#series.get(id)
    if (known !== undefined) return known
    const due = this.#now
    const series = { due, reportedAt: 0, tries: 0, message: undefined, events: new Map(), claim: undefined }
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
