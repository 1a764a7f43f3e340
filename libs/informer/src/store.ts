import { abortable } from '@csi-sidecars/base'
import { compareResourceVersions } from '@csi-sidecars/kube-types'
import type { Cached, InformerEvent, ObjectIdentity, Reader } from './reader.ts'
import { type Indexes, StoreSnapshot } from './snapshot.ts'

/**
 * The only writer of a cache.
 *
 * Guarantees: no state from any source replaces a newer state or restores a deleted object.
 */
export class StoreWriter<T extends Cached> {
  readonly reader: Reader<T>
  readonly #indexes: Indexes<T>
  readonly #tombstones = new Tombstones()
  readonly #synced = Promise.withResolvers<void>()
  #isSynced = false
  #current: StoreSnapshot<T>
  /** The store contains every change up to this version. */
  #watchVersion = ''
  /** The keys that our own writes and single reads have updated while a list runs. The list may have older states. */
  #writtenDuringList: Set<string> | undefined
  /** The objects that were deleted during a running list, which may contain them. */
  #deletedDuringList: ObjectIdentity[] = []

  constructor(indexes: Indexes<T>) {
    this.#indexes = indexes
    this.#current = new StoreSnapshot(indexes)
    this.reader = this.#createReader()
  }

  /**
   * Stores a state of an object from the watch, from our own write or from a single read. Returns the events, and none
   * if the state is outdated.
   */
  upsert(after: T, source: 'watch' | 'write' | 'read'): readonly InformerEvent<T>[] {
    if (this.#tombstones.covers(after)) return []
    const before = this.#current.objects.get(after.key)
    // An object that was created and deleted between two lists has no tombstone. A late answer must not add it.
    if (before === undefined && source !== 'watch' && !isNewer(after, { resourceVersion: this.#watchVersion }))
      return []
    if (before !== undefined && !isNewer(after, before)) return []
    this.#current.set(after)
    if (source !== 'watch') this.#writtenDuringList?.add(after.key)
    if (before === undefined) return [{ type: 'added', object: after }]
    if (before.uid === after.uid) return [{ type: 'updated', before, after, origin: 'change' }]
    // The object was deleted and recreated under the same name.
    this.#tombstones.add(before)
    return [
      { type: 'deleted', object: before },
      { type: 'added', object: after },
    ]
  }

  /**
   * Removes an object that was deleted or that the projection now rejects. A newer object of the same name stays.
   * `last` is the last state of the object, if a watch event contains it.
   */
  remove(gone: ObjectIdentity, last?: T): readonly InformerEvent<T>[] {
    const before = this.#current.objects.get(gone.key)
    if (before !== undefined && before.uid !== gone.uid && !isNewer(gone, before)) return []
    this.#tombstones.add(gone)
    if (this.#writtenDuringList !== undefined) this.#deletedDuringList.push(gone)
    if (before === undefined) return []
    this.#current.delete(gone.key)
    const version = isNewer(gone, before) ? { version: gone.resourceVersion } : {}
    return [{ type: 'deleted', object: before, ...version, ...(last?.uid === before.uid && { last }) }]
  }

  /** Records that the store contains every change up to this version. */
  advanceTo(resourceVersion: string): void {
    this.#watchVersion = resourceVersion
  }

  /** Returns an empty snapshot for the objects of a list. `replace` later makes the snapshot the current state. */
  beginList(): StoreSnapshot<T> {
    this.#writtenDuringList = new Set()
    this.#deletedDuringList = []
    return new StoreSnapshot(this.#indexes)
  }

  /**
   * Makes a complete list the current state in one step. The returned events are created lazily, so that thousands of
   * them can be delivered in batches. Only answers to own writes may change the store between the batches.
   */
  replace(next: StoreSnapshot<T>, resourceVersion: string): Iterable<InformerEvent<T>> {
    const old = this.#current.objects
    // Deletions before the list do not count: a server that was restored from a backup may serve such objects again.
    for (const gone of this.#deletedDuringList) {
      const listed = next.objects.get(gone.key)
      if (listed?.uid === gone.uid && !isNewer(listed, gone)) next.delete(gone.key)
    }
    for (const key of this.#writtenDuringList ?? []) {
      const written = old.get(key)
      if (written !== undefined && isNewer(written, { resourceVersion })) next.set(written)
    }
    this.#writtenDuringList = undefined
    this.#deletedDuringList = []
    this.#watchVersion = resourceVersion
    const vanished = [...old.values()].filter(({ key, uid }) => next.objects.get(key)?.uid !== uid)
    for (const { key, uid } of vanished) this.#tombstones.add({ key, uid, resourceVersion })
    this.#current = next
    this.#isSynced = true
    this.#synced.resolve()
    return changeEvents(old, next.objects, vanished)
  }

  #createReader(): Reader<T> {
    const current = (): StoreSnapshot<T> => this.#current
    const isSynced = (): boolean => this.#isSynced
    return {
      get: (key) => current().objects.get(key),
      values: () => current().objects.values(),
      byIndex: (index, value) => current().byIndex(index, value),
      whenSynced: (signal) => abortable(this.#synced.promise, signal),
      get size() {
        return current().objects.size
      },
      get synced() {
        return isSynced()
      },
    }
  }
}

function* changeEvents<T extends Cached>(
  old: ReadonlyMap<string, T>,
  next: ReadonlyMap<string, T>,
  vanished: readonly T[],
): Generator<InformerEvent<T>> {
  for (const object of vanished) yield { type: 'deleted', object }
  for (const [key, after] of next) {
    const before = old.get(key)
    if (before === undefined || before.uid !== after.uid) yield { type: 'added', object: after }
    else if (before.resourceVersion !== after.resourceVersion)
      yield { type: 'updated', before, after, origin: 'change' }
  }
}

interface Versioned {
  readonly resourceVersion: string
}

/** Reports whether `news` has a newer version. If a version is not a number, any different version counts as newer. */
export function isNewer(candidate: Versioned, cached: Versioned): boolean {
  const order = compareResourceVersions(candidate.resourceVersion, cached.resourceVersion)
  return order > 0 || (order === 0 && candidate.resourceVersion !== cached.resourceVersion)
}

/** The number of recorded deletions. It is large enough, because late states arrive within seconds of a deletion. */
const MAX_TOMBSTONES = 2000

/** The last `MAX_TOMBSTONES` deleted objects, so that a late older state does not restore them. */
export class Tombstones {
  readonly #byKey = new Map<string, ObjectIdentity>()

  /** Records a deletion: states up to this version are outdated from now on. */
  add({ key, uid, resourceVersion }: ObjectIdentity): void {
    this.#byKey.delete(key)
    this.#byKey.set(key, { key, uid, resourceVersion })
    if (this.#byKey.size <= MAX_TOMBSTONES) return
    const [oldest] = this.#byKey.keys()
    if (oldest !== undefined) this.#byKey.delete(oldest)
  }

  /** Reports whether a state is outdated by a deletion. A later state and a recreated object are not outdated. */
  covers(candidate: ObjectIdentity): boolean {
    const ended = this.#byKey.get(candidate.key)
    return ended !== undefined && ended.uid === candidate.uid && !isNewer(candidate, ended)
  }
}
