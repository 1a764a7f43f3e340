import { abortable, type Clock } from '@csi-sidecars/base'
import { isAlreadyExists, isNotFound, isUnreachable, type KubeClient } from '@csi-sidecars/kube-client'
import { EVENTS, type Event } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Correlated, Correlator } from './correlator.ts'
import type { EventTarget, EventText, Occurrence } from './event.ts'

/** Records Events in the background. */
export interface Recorder {
  /** Records an event. Returns at once and never throws: an event that cannot be written is logged and dropped. */
  event(target: EventTarget, text: EventText): void
  /** Resolves when all events recorded so far are written or dropped. */
  flush(signal?: AbortSignal): Promise<void>
}

/** The client and the component of a recorder. */
export interface RecorderOptions {
  readonly client: KubeClient
  /** The name of the reporting component. */
  readonly component: string
  readonly clock: Clock
  readonly log: Logger
}

/** The largest number of unwritten events. Further events are dropped, because events must not block work. */
const MAX_QUEUED = 10_000
/** The number of simultaneous event writes. More writes delay the requests that the events are about. */
const WRITES_AT_ONCE = 2
/** The number of remembered kinds of refusals. Messages of webhooks may contain times, so each may be another kind. */
const MAX_REFUSALS = 100
const MAX_TRIES = 12
const RETRY_PAUSE_MS = 10_000

/** Returns a recorder that writes in the background: the events of one object in order, several objects in parallel. */
export function createRecorder(options: RecorderOptions): Recorder {
  return new QueueingRecorder(options)
}

/**
 * Wraps a recorder: drops events after this process has lost the lease, because the next leader reports the same facts.
 * Calls `onEvent` for every other event.
 */
export function recorderWhileLeading(
  recorder: Recorder,
  assertLeading: () => void,
  onEvent: Recorder['event'] = () => undefined,
): Recorder {
  return {
    event(target, text) {
      try {
        assertLeading()
      } catch {
        return
      }
      onEvent(target, text)
      recorder.event(target, text)
    },
    flush: (signal) => recorder.flush(signal),
  }
}

class QueueingRecorder implements Recorder {
  readonly #options: RecorderOptions
  readonly #correlator: Correlator
  /** The last pending write for each object with unwritten events. */
  readonly #lastWrites = new Map<string, Promise<void>>()
  /** The refusals that were logged, the oldest first. */
  readonly #refusals = new Set<string>()
  readonly #slots = new WriteSlots(WRITES_AT_ONCE)
  #queued = 0

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#correlator = new Correlator(options.component, options.clock)
  }

  event(target: EventTarget, text: EventText): void {
    const { log } = this.#options
    if (this.#queued >= MAX_QUEUED) {
      const { reason, message } = text
      log.error(undefined, 'Too many events are waiting, event dropped', { reason, message })
      return
    }
    this.#queued += 1
    const occurrence = { target, ...text }
    const object = `${target.kind}/${target.namespace ?? ''}/${target.name}`
    const last: Promise<void> = (this.#lastWrites.get(object) ?? Promise.resolve())
      .then(() => this.#record(occurrence, () => text.replaceable === true && this.#lastWrites.get(object) !== last))
      .catch((error: unknown) => this.#logRefusal(error, occurrence))
      .finally(() => {
        this.#queued -= 1
        if (this.#lastWrites.get(object) === last) this.#lastWrites.delete(object)
      })
    this.#lastWrites.set(object, last)
  }

  async flush(signal?: AbortSignal): Promise<void> {
    await abortable(Promise.all(this.#lastWrites.values()), signal)
  }

  async #record(occurrence: Occurrence, isReplaced: () => boolean): Promise<void> {
    const correlated = this.#correlator.correlate(occurrence)
    if (correlated.kind === 'drop') return
    const event = await this.#retryUnreachable(async () => (isReplaced() ? undefined : await this.#write(correlated)))
    if (event !== undefined) this.#correlator.recordStored(correlated.report, event)
  }

  async #write(correlated: Exclude<Correlated, { kind: 'drop' }>): Promise<Event> {
    const { client } = this.#options
    if (correlated.kind === 'repeat') {
      const { name = '', namespace } = correlated.event.metadata
      try {
        return await client.patch(EVENTS, { name, namespace }, correlated.patch)
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
    return await client.create(EVENTS, correlated.event)
  }

  /** Calls `write` until the API server is reachable. A refusal is final. */
  async #retryUnreachable<T>(write: () => Promise<T>): Promise<T> {
    const { clock } = this.#options
    for (let tries = 1; ; tries += 1) {
      try {
        // The pause for an unreachable server delays no other event, because it does not count as a running write.
        return await this.#slots.run(write)
      } catch (error) {
        if (!isUnreachable(error) || tries >= MAX_TRIES) throw error
        await clock.sleep(RETRY_PAUSE_MS)
      }
    }
  }

  #logRefusal(error: unknown, { reason, message }: Occurrence): void {
    // If the error is AlreadyExists, an earlier try has stored the event, but its answer was lost.
    if (isAlreadyExists(error)) return
    const { log } = this.#options
    const refusal = error instanceof Error ? error.message : String(error)
    const kind = `${reason}: ${refusal.replace(/"[^"]*"/g, '""')}`
    if (this.#refusals.has(kind)) return
    this.#refusals.add(kind)
    const [oldest] = this.#refusals
    if (this.#refusals.size > MAX_REFUSALS && oldest !== undefined) this.#refusals.delete(oldest)
    log.error(error, 'Server rejected event (will not retry!)', { reason, message })
  }
}

/** Runs at most `atOnce` functions at a time. Other callers wait in the order of their calls. */
class WriteSlots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      // The caller that has waited longest runs at once. Otherwise a new caller could overtake it.
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
