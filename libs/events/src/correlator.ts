import type { Clock } from '@csi-sidecars/base'
import { type Event, type Patch, rfc3339 } from '@csi-sidecars/kube-types'
import { newEvent, type Occurrence, UniqueTimes } from './event.ts'

/** Events of one object, type and reason are merged once they have this many different messages. */
const AGGREGATE_FROM = 10
const AGGREGATE_WITHIN_MS = 10 * 60_000
const AGGREGATE_PREFIX = '(combined from similar events): '
/** The number of events of one object and type that are written immediately. Then one follows every five minutes. */
const SPAM_BURST = 25
const SPAM_EVERY_MS = 300_000
/** The number of objects to remember. A repeated event of a forgotten object is created again. */
const MAX_SUBJECTS = 4096

/** The action for an occurrence: create an Event, repeat an earlier Event, or drop the occurrence. */
export type Correlated =
  | { readonly kind: 'create'; readonly event: Event; readonly report: StoredReport }
  /** The Event with the patch. The recorder creates it if the stored Event has expired. */
  | { readonly kind: 'repeat'; readonly report: StoredReport; readonly patch: Patch; readonly event: Event }
  | { readonly kind: 'drop' }

/** The fields of a stored Event that a later patch needs. */
interface StoredEvent extends Pick<Event, 'count' | 'firstTimestamp'> {
  readonly name: string | undefined
}

/** The Event of one message, or of all merged messages. */
interface StoredReport {
  /** Undefined for merged messages. */
  readonly message: string | undefined
  /** Undefined until the Event is stored. */
  stored: StoredEvent | undefined
}

/** The events of one object, type and reason. */
interface Group {
  readonly reason: string
  lastAt: number
  /** The different messages of the last ten minutes. */
  messages: readonly string[]
  reports: readonly StoredReport[]
}

/** The events of one object and type. Its lists are replaced, because a list that grows keeps room for 16 more entries. */
interface Subject {
  /** The time from which on the next event is accepted. */
  nextAt: number
  groups: readonly Group[]
}

/** Decides, as client-go does, which occurrences are new, which repeat an earlier Event and which are dropped. */
export class Correlator {
  readonly #component: string
  readonly #clock: Clock
  /** The subjects by their identity, the one with the oldest last event first. */
  readonly #subjects = new Map<string, Subject>()
  readonly #names: UniqueTimes

  constructor(component: string, clock: Clock) {
    this.#component = component
    this.#clock = clock
    this.#names = new UniqueTimes(clock)
  }

  correlate(occurrence: Occurrence): Correlated {
    const subject = this.#subjectOf(occurrence)
    const { report, message } = this.#aggregate(subject, occurrence)
    const event = newEvent(this.#component, { ...occurrence, message }, this.#names.next())
    if (!this.#isWithinRate(subject)) return { kind: 'drop' }
    const before = report.stored
    if (before === undefined) return { kind: 'create', event, report }
    const count = (before.count ?? 0) + 1
    const lastTimestamp = rfc3339(this.#clock.now())
    const { name, firstTimestamp } = before
    return {
      kind: 'repeat',
      report,
      patch: { kind: 'strategic', body: { count, lastTimestamp, message } },
      event: { ...event, metadata: { ...event.metadata, name }, firstTimestamp, lastTimestamp, count },
    }
  }

  /** Records that the Event is stored, so that its next occurrence raises its count. */
  recordStored(report: StoredReport, { metadata, count, firstTimestamp }: Event): void {
    report.stored = { name: metadata.name, count, firstTimestamp }
  }

  /** Returns the facts about an object. Forgets the object with the oldest event. */
  #subjectOf({ target, type }: Occurrence): Subject {
    const { apiVersion, kind, namespace, name, uid } = target
    const key = [apiVersion, kind, namespace, name, uid, type].join('\0')
    const subject = this.#subjects.get(key) ?? { nextAt: Number.NEGATIVE_INFINITY, groups: [] }
    this.#subjects.delete(key)
    this.#subjects.set(key, subject)
    const [oldest] = this.#subjects.size > MAX_SUBJECTS ? this.#subjects.keys() : []
    if (oldest !== undefined) this.#subjects.delete(oldest)
    return subject
  }

  #aggregate(subject: Subject, { reason, message }: Occurrence): { report: StoredReport; message: string } {
    const now = this.#clock.monotonic()
    const group = subject.groups.find((each) => each.reason === reason) ?? newGroup(subject, reason)
    if (now - group.lastAt > AGGREGATE_WITHIN_MS) group.messages = []
    group.lastAt = now
    if (!group.messages.includes(message)) group.messages = [...group.messages, message]
    if (group.messages.length < AGGREGATE_FROM) return { report: reportOf(group, message), message }
    group.messages = group.messages.slice(1)
    return { report: reportOf(group, undefined), message: `${AGGREGATE_PREFIX}${message}` }
  }

  #isWithinRate(subject: Subject): boolean {
    const now = this.#clock.monotonic()
    const from = Math.max(subject.nextAt, now - (SPAM_BURST - 1) * SPAM_EVERY_MS)
    if (from > now) return false
    subject.nextAt = from + SPAM_EVERY_MS
    return true
  }
}

function newGroup(subject: Subject, reason: string): Group {
  const group = { reason, lastAt: Number.NEGATIVE_INFINITY, messages: [], reports: [] }
  subject.groups = [...subject.groups, group]
  return group
}

/** Returns the report of a message. A group keeps its last reports only. */
function reportOf(group: Group, message: string | undefined): StoredReport {
  const found = group.reports.find((each) => each.message === message)
  if (found !== undefined) return found
  const report: StoredReport = { message, stored: undefined }
  group.reports = [...group.reports.slice(1 - AGGREGATE_FROM), report]
  return report
}
