import { type Cancel, type Clock, invariant } from '@csi-sidecars/base'
import type { ChangeFrame, KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject, MessageReader, ObjectRef, Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { Dispatcher } from './dispatcher.ts'
import { Interner, Projector } from './projector.ts'
import type { Cached, InformerEvent, Reader } from './reader.ts'
import type { RunningWatch, SharedWatch } from './shared-watch.ts'
import type { IndexFunction, StoreSnapshot } from './snapshot.ts'
import { StoreWriter } from './store.ts'
import { type Replica, Watcher } from './watcher.ts'

/**
 * A cache of the objects of one resource, kept up to date by a list and a watch.
 *
 * Guarantees: handlers get the changes of an object in order, and the store contains a change before its handlers run.
 * A state never goes back: neither a list nor a late answer restores an older state or a deleted object. After a lost
 * connection the informer resumes the watch, or lists again.
 *
 * Caveats: the store may be behind the server. Call `ensureListedSince` before a decision that an earlier leader may have made
 * already. Handlers run synchronously and must be short.
 *
 * Errors: an error of a handler or of the projection is logged, and the informer continues. `run` rejects only for a
 * bug.
 */
export interface Informer<T, W = unknown> {
  readonly store: Reader<T>
  /** Calls `handler` for later changes only. Returns the unsubscribe function. */
  subscribe(handler: (event: InformerEvent<T>) => void): () => void
  /** Keeps the store up to date until the signal is aborted, then resolves. The store keeps its objects. */
  run(signal: AbortSignal): Promise<void>
  /**
   * Resolves when the store is at least as new as the server was at `since`, in monotonic milliseconds of the clock.
   * Lists again if the last list was requested before `since`.
   */
  ensureListedSince(since: number, signal: AbortSignal): Promise<void>
  /**
   * Puts the object of an answer to our own write or read into the store, before the watch delivers it. Returns the
   * stored object, which may be newer, or undefined if the projection rejects it or the object is deleted.
   */
  storeAnswer(object: W): T | undefined
  /** Emits an `updated` event for every cached object, although nothing has changed. */
  resync(): void
  /** The time of the API server's last message, in monotonic milliseconds. */
  readonly lastActivity: number
}

/** The objects that an informer caches, and their cached fields. */
export interface InformerOptions<W extends KubeObject, T extends Cached> {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'onReread'>
  readonly resource: Resource<W>
  /**
   * Returns the fields to cache, which must be the same for all objects. Undefined leaves the object out. `intern`
   * shares values that many objects repeat. If `project` throws, the object is logged once and left out.
   */
  project(object: W, intern: Interner): T | undefined
  /** Decodes the fields that `project` reads from protobuf. Default: objects are requested as JSON. */
  readonly message?: MessageReader<W> | undefined
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>> | undefined
  readonly namespace?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly labelSelector?: string | undefined
  /** The milliseconds between two calls of `resync`. 0: never. */
  readonly resyncMs: number
  /** The number of objects in a page of a list. Default: 500. */
  readonly pageSize?: number | undefined
  /** The list and watch of several caches of a kind. Default: separate ones. */
  readonly watch?: SharedWatch<W> | undefined
  /** True if the process also works without the permission. A 403 then does not count as a missing permission. */
  readonly optional?: boolean | undefined
  /**
   * Called if a request fails, before the pause and the retry: for a caller that can work without the objects. The
   * caller then logs failed lists itself. Default: the informer logs them.
   */
  readonly onFailure?: ((error: unknown) => void) | undefined
  readonly clock: Clock
  readonly log: Logger
}

export function createInformer<W extends KubeObject, T extends Cached>(options: InformerOptions<W, T>): Informer<T, W> {
  return new ResourceInformer(options)
}

class ResourceInformer<W extends KubeObject, T extends Cached> implements Informer<T, W>, Replica<W> {
  readonly #options: InformerOptions<W, T>
  readonly #writer: StoreWriter<T>
  readonly #projector: Projector<W, T>
  readonly #dispatcher: Dispatcher<InformerEvent<T>>
  readonly #watcher: RunningWatch
  #collecting: StoreSnapshot<T> | undefined
  lastActivity: number

  constructor(options: InformerOptions<W, T>) {
    this.#options = options
    const { clock, log, resource } = options
    this.#writer = new StoreWriter(options.indexes ?? {})
    this.#projector = new Projector({ project: options.project, intern: new Interner(), resource, log })
    this.#dispatcher = new Dispatcher(clock, (error, event) => {
      const { key } = event.type === 'updated' ? event.after : event.object
      log.error(error, 'Informer handler failed', { resource: resource.plural, object: key, event: event.type })
    })
    const onActivity = (): void => {
      this.lastActivity = clock.monotonic()
    }
    this.#watcher =
      options.watch?.subscribe({ replica: this, onActivity }) ?? new Watcher({ ...options, replica: this, onActivity })
    this.lastActivity = clock.monotonic()
  }

  get store(): Reader<T> {
    return this.#writer.reader
  }

  subscribe(handler: (event: InformerEvent<T>) => void): () => void {
    return this.#dispatcher.subscribe(handler)
  }

  async run(signal: AbortSignal): Promise<void> {
    const stopResync = this.#resyncForEver()
    const stopListening = this.#listenForRereads()
    try {
      await this.#watcher.run(signal)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      stopListening()
      stopResync()
    }
  }

  ensureListedSince(since: number, signal: AbortSignal): Promise<void> {
    return this.#watcher.ensureListedSince(since, signal)
  }

  storeAnswer(object: W): T | undefined {
    const identity = this.#projector.identify(object)
    if (identity !== undefined && isGone(object)) {
      this.#dispatcher.emit(this.#writer.remove(identity))
      return undefined
    }
    const projected = this.#projector.project(object)
    if (projected === undefined) return undefined
    this.#dispatcher.emit(this.#writer.upsert(projected, 'write'))
    return this.store.get(projected.key)
  }

  /** Updates the cache with objects that the client has read again because a write got no answer. */
  #listenForRereads(): () => void {
    const { client, resource, namespace, fieldSelector, labelSelector } = this.#options
    const all = fieldSelector === undefined && labelSelector === undefined
    const listen = all ? client.onReread?.bind(client) : undefined
    if (listen === undefined) return () => undefined
    return listen<W>(resource, (ref, object) => {
      if (namespace !== undefined && ref.namespace !== namespace) return false
      return this.#reread(ref, object)
    })
  }

  #reread({ namespace, name }: ObjectRef, object: W | undefined): boolean {
    const before = this.store.get(namespace === undefined ? name : `${namespace}/${name}`)
    if (object === undefined) {
      if (before !== undefined) this.#dispatcher.emit(this.#writer.remove(before))
      return before !== undefined
    }
    const identity = this.#projector.identify(object)
    if (identity === undefined) return false
    const projected = this.#projector.project(object)
    this.#dispatcher.emit(
      projected === undefined ? this.#writer.remove(identity) : this.#writer.upsert(projected, 'read'),
    )
    return this.store.get(identity.key) !== before
  }

  resync(): void {
    void this.#dispatcher.emitInBatches(resyncEvents(this.store))
  }

  beginList(): void {
    this.#collecting = this.#writer.beginList()
  }

  collectListed({ type, object }: ChangeFrame<W>): void {
    const identity = this.#projector.identify(object)
    if (identity === undefined) return
    const projected = type === 'DELETED' ? undefined : this.#projector.project(object)
    if (projected === undefined) this.#collecting?.delete(identity.key)
    else this.#collecting?.set(this.#reuseCached(projected))
  }

  commitList(resourceVersion: string): void | Promise<void> {
    const complete = this.#collecting
    this.#collecting = undefined
    invariant(complete !== undefined, 'a list is committed that was never begun')
    return this.#dispatcher.emitInBatches(this.#writer.replace(complete, resourceVersion))
  }

  applyChange({ type, object }: ChangeFrame<W>): string | undefined {
    const identity = this.#projector.identify(object)
    if (identity === undefined) return undefined
    const projected = this.#projector.project(object)
    if (type === 'DELETED') {
      this.#dispatcher.emit(this.#writer.remove(identity, projected))
    } else {
      this.#dispatcher.emit(
        projected === undefined ? this.#writer.remove(identity) : this.#writer.upsert(projected, 'watch'),
      )
    }
    this.#writer.advanceTo(identity.resourceVersion)
    return identity.resourceVersion
  }

  advanceTo(resourceVersion: string): void {
    this.#writer.advanceTo(resourceVersion)
  }

  /** Returns the cached object if it has the same version, so that a list does not double the memory. */
  #reuseCached(projected: T): T {
    const present = this.store.get(projected.key)
    const same = present?.uid === projected.uid && present.resourceVersion === projected.resourceVersion
    return same ? present : projected
  }

  #resyncForEver(): Cancel {
    const { resyncMs, clock } = this.#options
    if (resyncMs <= 0) return () => undefined
    let cancel: Cancel
    const again = (): void => {
      if (this.store.synced) this.resync()
      cancel = clock.schedule(resyncMs, again)
    }
    cancel = clock.schedule(resyncMs, again)
    return () => cancel()
  }
}

/**
 * Reports whether the answer to a write shows that the object is deleted. A write that removes the last finalizer
 * deletes the object, but the answer of the API server has the version before that write.
 */
function isGone({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = metadata ?? {}
  return deletionTimestamp != null && (finalizers ?? []).length === 0 && !deletionGracePeriodSeconds
}

/** Creates each event when it is delivered, with the newest state. Objects deleted before that moment get no event. */
function* resyncEvents<T extends Cached>(store: Reader<T>): Generator<InformerEvent<T>> {
  for (const { key } of [...store.values()]) {
    const object = store.get(key)
    if (object !== undefined) yield { type: 'updated', before: object, after: object, origin: 'resync' }
  }
}
