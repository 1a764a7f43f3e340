import { abortable, type Clock, isAbort } from '@csi-sidecars/base'
import { isAlreadyExists, isNotFound, isUnreachable, type KubeClient } from '@csi-sidecars/kube-client'
import { EVENTS, type Event } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Correlated, Correlator } from './correlator.ts'
import type { EventTarget, EventType, Occurrence } from './event.ts'
import { Turns } from './turns.ts'

export interface Recorder {
  /** Tells the cluster. Returns at once and never fails: an event that cannot be told is logged and dropped. */
  event(target: EventTarget, type: EventType, reason: string, message: string): void
  /** Resolves when all that was recorded so far is told or dropped. */
  flush(signal?: AbortSignal): Promise<void>
}

export interface RecorderOptions {
  readonly client: KubeClient
  /** Who tells it. */
  readonly component: string
  /** Where it runs. */
  readonly host?: string | undefined
  readonly clock: Clock
  readonly log: Logger
  /** Ends every wait; what is not told by then is dropped. */
  readonly signal?: AbortSignal | undefined
}

/** Events under way and waiting; the rest is dropped, for work is never held up by events. */
const QUEUED_AT_MOST = 10_000
/** Writes under way: requests pass the flow control in their order, so the work would stand behind every one more. */
const WRITES_AT_ONCE = 8
const TRIES = 12
const PAUSE_MS = 10_000

/** Tells events in the background, those of one object in their order, those of several side by side. */
export function createRecorder(options: RecorderOptions): Recorder {
  return new QueueingRecorder(options)
}

class QueueingRecorder implements Recorder {
  readonly #options: RecorderOptions
  readonly #correlator: Correlator
  /** The end of the line of each object that has events under way. */
  readonly #lines = new Map<string, Promise<void>>()
  readonly #refusals = new Set<string>()
  readonly #turns = new Turns(WRITES_AT_ONCE)
  #queued = 0

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#correlator = new Correlator({ component: options.component, host: options.host }, options.clock)
  }

  event(target: EventTarget, type: EventType, reason: string, message: string): void {
    const { log } = this.#options
    if (this.#queued >= QUEUED_AT_MOST) {
      log.error(undefined, 'Too many events are waiting, event dropped', { reason, message })
      return
    }
    this.#queued += 1
    const occurrence = { target, type, reason, message }
    const line = `${target.kind}/${target.namespace ?? ''}/${target.name}`
    const last = (this.#lines.get(line) ?? Promise.resolve())
      .then(() => this.#tell(occurrence))
      .catch((error: unknown) => this.#refused(error, occurrence))
      .finally(() => {
        this.#queued -= 1
        if (this.#lines.get(line) === last) this.#lines.delete(line)
      })
    this.#lines.set(line, last)
  }

  async flush(signal?: AbortSignal): Promise<void> {
    await abortable(Promise.all(this.#lines.values()), signal)
  }

  async #tell(occurrence: Occurrence): Promise<void> {
    const correlated = this.#correlator.correlate(occurrence)
    if (correlated.do === 'drop') return
    const event = await this.#persistently(() => this.#write(correlated))
    this.#correlator.told(correlated.key, event)
  }

  async #write(correlated: Exclude<Correlated, { do: 'drop' }>): Promise<Event> {
    const { client, signal } = this.#options
    if (correlated.do === 'repeat') {
      const { name = '', namespace } = correlated.event.metadata
      try {
        return await client.patch(EVENTS, { name, namespace }, correlated.patch, { signal })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    }
    return await client.create(EVENTS, correlated.event, { signal })
  }

  /** An API server that is away is waited for; one that refuses is not asked again. */
  async #persistently(write: () => Promise<Event>): Promise<Event> {
    const { clock, signal } = this.#options
    for (let tries = 1; ; tries += 1) {
      try {
        // A turn is for one try: whoever pauses for a server that is away holds nobody up.
        return await this.#turns.take(write)
      } catch (error) {
        if (!isUnreachable(error) || tries >= TRIES) throw error
        await clock.sleep(PAUSE_MS, signal)
      }
    }
  }

  #refused(error: unknown, { reason, message }: Occurrence): void {
    // Told already, by a try whose answer was lost.
    if (isAbort(error) || isAlreadyExists(error)) return
    const { log } = this.#options
    const refusal = error instanceof Error ? error.message : String(error)
    const kind = `${reason}: ${refusal.replace(/"[^"]*"/g, '""')}`
    if (this.#refusals.has(kind)) return
    this.#refusals.add(kind)
    log.error(error, 'Server rejected event (will not retry!)', { reason, message })
  }
}
