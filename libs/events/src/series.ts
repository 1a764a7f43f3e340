import type { Clock } from '@csi-sidecars/base'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { EVENTS, type Event, rfc3339 } from '@csi-sidecars/kube-types'
import { type EventSource, newEvent, type Occurrence, UniqueTimes } from './event.ts'

export interface SeriesOptions {
  readonly client: KubeClient
  readonly source: EventSource
  readonly clock: Clock
}

/**
 * Events whose writer itself knows what repeats what: one Event for something that goes on, whose count and words
 * follow it. Each write is one that may as well not be made: never ahead of others, and not repeated.
 */
export class SeriesWriter {
  readonly #options: SeriesOptions
  readonly #names: UniqueTimes

  constructor(options: SeriesOptions) {
    this.#options = options
    this.#names = new UniqueTimes(options.clock)
  }

  /** Writes the event, or what has become of the one that was `told` before. Returns what is to be told next time. */
  async write(
    occurrence: Occurrence,
    { count, told, signal }: { count: number; told?: Event | undefined; signal: AbortSignal },
  ): Promise<Event> {
    const { client, source, clock } = this.#options
    const options = { signal, priority: 'spare' } as const
    if (told !== undefined) {
      const { name = '', namespace } = told.metadata
      const body = { count, lastTimestamp: rfc3339(clock.now()), message: occurrence.message }
      try {
        return await client.patch(EVENTS, { name, namespace }, { kind: 'strategic', body }, options)
      } catch (error) {
        // Events live for an hour.
        if (!isNotFound(error)) throw error
      }
    }
    return await client.create(EVENTS, { ...newEvent(source, occurrence, this.#names.next()), count }, options)
  }
}
