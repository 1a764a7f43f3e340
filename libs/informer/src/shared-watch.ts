import { abortable, type Clock, invariant } from '@csi-sidecars/base'
import type { ChangeFrame, KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject, MessageReader, Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Replica, Watcher } from './watcher.ts'

/** The source of one cache. */
export type Feed = Pick<Watcher<KubeObject>, 'run' | 'caughtUp'>

/** A cache that takes part, and its callback for signs of life of the server. */
interface Subscriber<W> {
  readonly replica: Replica<W>
  readonly onActivity: () => void
}

/** One list and one watch of a kind for any number of caches, each with its own projection. */
export class SharedWatch<W extends KubeObject> implements Replica<W> {
  readonly #watcher: Watcher<W>
  readonly #subscribers: Subscriber<W>[] = []
  #running: Promise<never> | undefined

  constructor(options: {
    readonly client: KubeClient
    readonly resource: Resource<W>
    /** Reads the fields of all projections. */
    readonly message?: MessageReader<W> | undefined
    readonly clock: Clock
    readonly log: Logger
  }) {
    const onActivity = (): void => {
      for (const each of this.#subscribers) each.onActivity()
    }
    this.#watcher = new Watcher({ ...options, replica: this, onActivity })
  }

  /** Adds a cache. All must be added before the first one runs: a later one would miss the list. */
  subscribe(subscriber: Subscriber<W>): Feed {
    invariant(this.#running === undefined, 'a cache that comes after the list')
    this.#subscribers.push(subscriber)
    return {
      run: (signal) => {
        this.#running ??= this.#watcher.run(signal)
        return abortable(this.#running, signal)
      },
      caughtUp: (since, signal) => this.#watcher.caughtUp(since, signal),
    }
  }

  begin(): void {
    for (const { replica } of this.#subscribers) replica.begin()
  }

  collect(frame: ChangeFrame<W>): void {
    for (const { replica } of this.#subscribers) replica.collect(frame)
  }

  async commit(resourceVersion: string): Promise<void> {
    await Promise.all(this.#subscribers.map(({ replica }) => replica.commit(resourceVersion)))
  }

  apply(frame: ChangeFrame<W>): string | undefined {
    let version: string | undefined
    for (const { replica } of this.#subscribers) version = replica.apply(frame)
    return version
  }

  reached(resourceVersion: string): void {
    for (const { replica } of this.#subscribers) replica.reached(resourceVersion)
  }
}
