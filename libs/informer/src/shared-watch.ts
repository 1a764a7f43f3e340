import { abortable, type Clock, invariant } from '@csi-sidecars/base'
import type { ChangeFrame, KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject, MessageReader, Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Replica, Watcher } from './watcher.ts'

/** The list and watch that fill one cache. */
export type RunningWatch = Pick<Watcher<KubeObject>, 'run' | 'ensureListedSince'>

/** A cache that a shared watch fills. `onActivity` is called whenever the server sends something. */
interface Subscriber<W> {
  readonly replica: Replica<W>
  readonly onActivity: () => void
}

/** One list and one watch that fill several caches of the same kind. Each cache has its own projection. */
export class SharedWatch<W extends KubeObject> implements Replica<W> {
  readonly #watcher: Watcher<W>
  readonly #subscribers: Subscriber<W>[] = []
  #running: Promise<never> | undefined

  constructor(options: {
    readonly client: KubeClient
    readonly resource: Resource<W>
    /** Decodes the fields of the projections from protobuf. Default: objects come as JSON. */
    readonly message?: MessageReader<W> | undefined
    readonly clock: Clock
    readonly log: Logger
  }) {
    const onActivity = (): void => {
      for (const each of this.#subscribers) each.onActivity()
    }
    this.#watcher = new Watcher({ ...options, replica: this, onActivity })
  }

  /** Adds a cache. Add all caches before the first one runs, because a later cache would miss the list. */
  subscribe(subscriber: Subscriber<W>): RunningWatch {
    invariant(this.#running === undefined, 'a cache that comes after the list')
    this.#subscribers.push(subscriber)
    return {
      run: (signal) => {
        this.#running ??= this.#watcher.run(signal)
        return abortable(this.#running, signal)
      },
      ensureListedSince: (since, signal) => this.#watcher.ensureListedSince(since, signal),
    }
  }

  beginList(): void {
    for (const { replica } of this.#subscribers) replica.beginList()
  }

  collectListed(frame: ChangeFrame<W>): void {
    for (const { replica } of this.#subscribers) replica.collectListed(frame)
  }

  async commitList(resourceVersion: string): Promise<void> {
    await Promise.all(this.#subscribers.map(({ replica }) => replica.commitList(resourceVersion)))
  }

  applyChange(frame: ChangeFrame<W>): string | undefined {
    let version: string | undefined
    for (const { replica } of this.#subscribers) version = replica.applyChange(frame)
    return version
  }

  advanceTo(resourceVersion: string): void {
    for (const { replica } of this.#subscribers) replica.advanceTo(resourceVersion)
  }
}
