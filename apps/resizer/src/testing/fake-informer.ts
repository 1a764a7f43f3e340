import type { Cached, Informer, InformerEvent, Reader } from '@csi-sidecars/informer'
import { compareResourceVersions, type KubeObject, type Resource } from '@csi-sidecars/kube-types'
import type { FakeApi } from '@csi-sidecars/testkit'

/** A cache of the fake cluster for tests. While `lagging` is true, it shows changes only after `deliver`. */
export class FakeInformer<W extends KubeObject, T extends Cached> implements Informer<T, W> {
  readonly lastActivity = 0
  readonly store: Reader<T>
  /** True to withhold changes until `deliver` is called. */
  lagging = false
  readonly #project: (object: W) => T | undefined
  readonly #objects = new Map<string, T>()
  readonly #handlers = new Set<(event: InformerEvent<T>) => void>()
  /** The versions at which objects were deleted, by key. An event with an older version does not restore the object. */
  readonly #gone = new Map<string, string>()
  readonly #late: { readonly type: string; readonly object: W }[] = []
  readonly #forget: () => void

  constructor({ server }: FakeApi<Error>, resource: Resource<W>, project: (object: W) => T | undefined) {
    this.#project = project
    const objects = this.#objects
    this.store = {
      get: (key) => objects.get(key),
      values: () => objects.values(),
      get size() {
        return objects.size
      },
      byIndex: () => [],
      synced: true,
      whenSynced: async () => undefined,
    }
    for (const object of server.list(resource)) this.#store(object)
    this.#forget = server.onChange(resource, (change) => {
      this.#late.push(change)
      if (!this.lagging) this.deliver()
    })
  }

  subscribe(handler: (event: InformerEvent<T>) => void): () => void {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  async run(): Promise<void> {}

  async ensureListedSince(): Promise<void> {}

  /** Stops the cache, as if its process had ended. */
  close(): void {
    this.#forget()
    this.#handlers.clear()
  }

  storeAnswer(object: W): T | undefined {
    this.#store(object)
    const projected = this.#project(object)
    return projected && this.#objects.get(projected.key)
  }

  resync(): void {
    for (const object of [...this.#objects.values()]) {
      this.#emit({ type: 'updated', before: object, after: object, origin: 'resync' })
    }
  }

  /** Delivers all withheld changes. */
  deliver(): void {
    for (const { type, object } of this.#late.splice(0)) {
      if (type === 'DELETED') this.#remove(object)
      else this.#store(object)
    }
  }

  #store(object: W): void {
    const after = this.#project(object)
    if (after === undefined) return
    const before = this.#objects.get(after.key)
    const newest = before?.resourceVersion ?? this.#gone.get(after.key)
    if (newest !== undefined && compareResourceVersions(after.resourceVersion, newest) <= 0) return
    this.#objects.set(after.key, after)
    // The object was deleted and recreated under the same name.
    if (before !== undefined && before.uid !== after.uid) {
      this.#emit({ type: 'deleted', object: before })
      return this.#emit({ type: 'added', object: after })
    }
    this.#emit(
      before === undefined ? { type: 'added', object: after } : { type: 'updated', before, after, origin: 'change' },
    )
  }

  #remove(object: W): void {
    const gone = this.#project(object)
    const cached = gone && this.#objects.get(gone.key)
    if (gone === undefined || cached === undefined) return
    if (cached.uid !== gone.uid && compareResourceVersions(gone.resourceVersion, cached.resourceVersion) <= 0) return
    this.#objects.delete(gone.key)
    this.#gone.set(gone.key, gone.resourceVersion)
    this.#emit({ type: 'deleted', object: gone })
  }

  #emit(event: InformerEvent<T>): void {
    for (const handler of this.#handlers) handler(event)
  }
}
