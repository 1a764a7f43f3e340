import type { PendingWork } from '@csi-sidecars/controller'
import type { EventTarget } from '@csi-sidecars/events'
import type { Event } from '@csi-sidecars/kube-types'

/** What is reported of an object whose attach or detach fails. */
export interface Series {
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
 * Work that is younger is not reported: the attach/detach controller tells its pod at once, a single failure is
 * mostly the last, and whatever comes right within seconds costs no write.
 */
export const QUIET_MS = 10_000

export interface DueEvents {
  /** As many as may be reported, those that were reported longest ago first. */
  readonly chosen: readonly { readonly work: PendingWork; readonly series: Series }[]
  /** Events that were due for a whole period and were not reported. */
  readonly skipped: number
}

/** What is reported of the objects that fail; an object that fails no more has no series. */
export class SeriesTable {
  readonly #series = new Map<string, Series>()

  /** What is to be reported now. Forgets whatever is pending no more. */
  due(pending: readonly PendingWork[], now: number, most: number): DueEvents {
    const failing = new Map(pending.filter((work) => isReported(work, now)).map((work) => [idOf(work), work]))
    for (const id of this.#series.keys()) if (!failing.has(id)) this.#series.delete(id)
    const candidates: { work: PendingWork; series: Series }[] = []
    for (const [id, work] of failing) {
      const series = this.#of(id, now)
      const isNews = series.reportedAt === 0 || series.tries !== work.tries || series.message !== work.message
      if (series.due <= now && isNews) candidates.push({ work, series })
    }
    candidates.sort((a, b) => a.series.reportedAt - b.series.reportedAt || a.work.since - b.work.since)
    let skipped = 0
    for (const { series } of candidates.slice(most)) {
      if (now - series.due < PERIOD_MS) continue
      series.due += PERIOD_MS
      skipped += 1
    }
    return { chosen: candidates.slice(0, most), skipped }
  }

  /** Takes the series of an object that is well again; undefined where nothing was reported. */
  take(work: Pick<PendingWork, 'operation' | 'object'>): Series | undefined {
    const id = idOf(work)
    const series = this.#series.get(id)
    this.#series.delete(id)
    return series === undefined || series.reportedAt === 0 ? undefined : series
  }

  get size(): number {
    return this.#series.size
  }

  #of(id: string, now: number): Series {
    const known = this.#series.get(id)
    if (known !== undefined) return known
    const series = { due: now, reportedAt: 0, tries: 0, message: undefined, events: new Map(), claim: undefined }
    this.#series.set(id, series)
    return series
  }
}

function isReported({ operation, object, message, since }: PendingWork, now: number): boolean {
  if (object?.kind !== 'VolumeAttachment' || message === undefined) return false
  return (operation === 'attach' || operation === 'detach') && now - since >= QUIET_MS
}

function idOf({ operation, object }: Pick<PendingWork, 'operation' | 'object'>): string {
  return `${operation} ${object?.uid}`
}
