import type { Clock } from '@csi-sidecars/base'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { EVENTS, type Event, rfc3339 } from '@csi-sidecars/kube-types'

/** The object that an event is about. */
export interface EventTarget {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
}

/** The part of an Event that users read. */
export interface EventText {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** True if a later event about the object may replace this unwritten event. */
  readonly replaceable?: boolean
}

/** A report about an object, before it is merged with similar reports. */
export interface Occurrence extends EventText {
  readonly target: EventTarget
}

/** Everything that the events of one component need. */
export interface RepeatedEventWriterOptions {
  readonly client: KubeClient
  readonly component: string
  readonly clock: Clock
}

/** The namespace of events about objects without a namespace. */
export const DEFAULT_NAMESPACE = 'default'

function namespaceOf({ namespace }: EventTarget): string {
  return namespace === undefined || namespace === '' ? DEFAULT_NAMESPACE : namespace
}

const MAX_NAME_LENGTH = 253

/** Returns the name of an Event: the name of its object, cut if it is too long, and a unique suffix. */
function eventName(target: string, unique: string): string {
  const name = `${target}.${unique}`
  if (name.length <= MAX_NAME_LENGTH) return name
  // regex-bounded: the expression reads a name of at most 253 characters
  return `${target.slice(0, MAX_NAME_LENGTH - 1 - unique.length).replace(/[^a-z0-9]+$/, '')}.${unique}`
}

/** Nanoseconds since 1970 that make names of events unique. */
export class UniqueTimes {
  readonly #clock: Clock
  #last = 0n

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns a unique time, even within one millisecond. It contains random nanoseconds, so that names of events differ
   * from names by other writers.
   */
  next(): bigint {
    const now = BigInt(Math.floor(this.#clock.now())) * 1_000_000n
    this.#last = now > this.#last ? now + BigInt(Math.floor(this.#clock.random() * 1e6)) : this.#last + 1n
    return this.#last
  }
}

/** Returns a new Event for the API. `nanoseconds` since 1970 make its name unique. */
export function newEvent(component: string, { target, type, reason, message }: Occurrence, nanoseconds: bigint): Event {
  const time = rfc3339(Number(nanoseconds / 1_000_000n))
  const namespace = namespaceOf(target)
  return {
    metadata: { name: eventName(target.name, nanoseconds.toString(16)), namespace },
    involvedObject: { ...target },
    reason,
    message,
    type,
    source: { component },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    reportingComponent: component,
    reportingInstance: '',
  }
}

/**
 * Writes one Event for a lasting state, and updates its count and message later. The caller decides which reports
 * belong together. Each write has the lowest priority and is not retried.
 */
export class RepeatedEventWriter {
  readonly #options: RepeatedEventWriterOptions
  readonly #names: UniqueTimes

  constructor(options: RepeatedEventWriterOptions) {
    this.#options = options
    this.#names = new UniqueTimes(options.clock)
  }

  /** Creates an Event, or updates `previous`. Returns the `previous` of the next call. */
  async write(
    occurrence: Occurrence,
    { count, previous, signal }: { count: number; previous?: Event | undefined; signal: AbortSignal },
  ): Promise<Event> {
    const { client, component, clock } = this.#options
    const options = { signal, priority: 'background' } as const
    if (previous !== undefined) {
      const { name = '', namespace } = previous.metadata
      const body = { count, lastTimestamp: rfc3339(clock.now()), message: occurrence.message }
      try {
        return await client.patch(EVENTS, { name, namespace }, { kind: 'strategic', body }, options)
      } catch (error) {
        // The previous Event has expired: the API server deletes Events after an hour.
        if (!isNotFound(error)) throw error
      }
    }
    return await client.create(EVENTS, { ...newEvent(component, occurrence, this.#names.next()), count }, options)
  }
}
