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
 * Events whose writer groups repetitions itself: one Event for a state that lasts, whose count and message are updated.
 * Each write has the lowest priority and is not repeated.
 */
export class SeriesWriter {
  readonly #options: SeriesOptions
  readonly #names: UniqueTimes

  constructor(options: SeriesOptions) {
    this.#options = options
    this.#names = new UniqueTimes(options.clock)
  }

  /** Writes the event, or updates the `previous` one. Returns the event to pass as `previous` next time. */
  async write(
    occurrence: Occurrence,
    { count, previous, signal }: { count: number; previous?: Event | undefined; signal: AbortSignal },
  ): Promise<Event> {
    const { client, source, clock } = this.#options
    const options = { signal, priority: 'spare' } as const
    if (previous !== undefined) {
      const { name = '', namespace } = previous.metadata
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
