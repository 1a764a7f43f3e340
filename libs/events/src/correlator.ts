import { type Clock, TokenBucket } from '@csi-sidecars/base'
import { type Event, type Patch, rfc3339 } from '@csi-sidecars/kube-types'
import { type EventSource, namespaceOf, newEvent, type Occurrence, UniqueTimes } from './event.ts'

/** Events of one object, type and reason are merged once they have this many different messages. */
const AGGREGATE_FROM = 10
const AGGREGATE_WITHIN_MS = 10 * 60_000
const AGGREGATE_PREFIX = '(combined from similar events): '
/** The number of events of one object and type that are written immediately. Then one follows every five minutes. */
const SPAM_BURST = 25
const SPAM_QPS = 1 / 300
/** The number of objects and of messages to remember. A repeated event with a forgotten message is created again. */
const REMEMBERED = 4096

/** The action for an occurrence: create an Event, repeat an earlier Event, or drop the occurrence. */
export type Correlated =
  | { readonly do: 'create'; readonly event: Event; readonly key: string }
  /** The Event with the patch. The recorder creates it if the stored Event has expired. */
  | { readonly do: 'repeat'; readonly key: string; readonly patch: Patch; readonly event: Event }
  | { readonly do: 'drop' }

/** The fields of a stored Event that a later patch needs. */
interface Stored extends Pick<Event, 'count' | 'firstTimestamp'> {
  readonly name: string | undefined
}

interface Similar {
  readonly messages: Set<string>
  last: number
}

/** Decides, as client-go does, which occurrences are new, which repeat an earlier Event and which are dropped. */
export class Correlator {
  readonly #source: EventSource
  readonly #clock: Clock
  readonly #similar = new Remembered<Similar>()
  readonly #stored = new Remembered<Stored>()
  readonly #buckets = new Remembered<TokenBucket>()
  readonly #names: UniqueTimes

  constructor(source: EventSource, clock: Clock) {
    this.#source = source
    this.#clock = clock
    this.#names = new UniqueTimes(clock)
  }

  correlate(occurrence: Occurrence): Correlated {
    const { target, type } = occurrence
    const subject = [target.apiVersion, target.kind, target.namespace, target.name, target.uid, type].join('\0')
    const { key, message } = this.#aggregate(subject, occurrence)
    const event = newEvent(this.#source, { ...occurrence, message }, this.#names.next())
    const before = this.#stored.get(key)
    if (!this.#accepts(subject)) return { do: 'drop' }
    if (before === undefined) return { do: 'create', event, key }
    const count = (before.count ?? 0) + 1
    const lastTimestamp = rfc3339(this.#clock.now())
    const { name, firstTimestamp } = before
    return {
      do: 'repeat',
      key,
      patch: { kind: 'strategic', body: { count, lastTimestamp, message } },
      event: { ...event, metadata: { ...event.metadata, name }, firstTimestamp, lastTimestamp, count },
    }
  }

  /** Records that the Event is stored, so that the next occurrence with the key repeats it. */
  stored(key: string, { metadata, count, firstTimestamp }: Event): void {
    this.#stored.set(key, { name: metadata.name, count, firstTimestamp })
  }

  #aggregate(subject: string, { reason, message, target }: Occurrence): { key: string; message: string } {
    const group = [subject, reason, namespaceOf(target)].join('\0')
    const now = this.#clock.monotonic()
    let similar = this.#similar.get(group)
    if (similar === undefined || now - similar.last > AGGREGATE_WITHIN_MS) similar = { messages: new Set(), last: now }
    this.#similar.set(group, similar)
    similar.last = now
    similar.messages.add(message)
    if (similar.messages.size < AGGREGATE_FROM) return { key: `${group}\0${message}`, message }
    for (const oldest of similar.messages) {
      similar.messages.delete(oldest)
      break
    }
    return { key: group, message: `${AGGREGATE_PREFIX}${message}` }
  }

  #accepts(subject: string): boolean {
    let bucket = this.#buckets.get(subject)
    bucket ??= new TokenBucket({ clock: this.#clock, qps: SPAM_QPS, burst: SPAM_BURST })
    this.#buckets.set(subject, bucket)
    if (bucket.reserve() === 0) return true
    bucket.refund()
    return false
  }
}

/** A map of at most `REMEMBERED` entries. It drops the entries that were set longest ago. */
class Remembered<V> {
  readonly #entries = new Map<string, V>()

  get(key: string): V | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= REMEMBERED) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      return
    }
  }
}
