import { abortable } from '@csi-sidecars/base'
import { compareResourceVersions } from '@csi-sidecars/kube-types'
import {
  type Cached,
  type Indexes,
  type InformerEvent,
  type ObjectIdentity,
  type Reader,
  StoreSnapshot,
} from './snapshot.ts'

/**
 * The only writer of the cache.
 *
 * Guarantees: no older state replaces an object, and no deleted object returns, from any source.
 */
export class StoreWriter<T extends Cached> {
  readonly reader: Reader<T>
  readonly #indexes: Indexes<T>
  readonly #tombstones = new Tombstones()
  readonly #synced = Promise.withResolvers<void>()
  #isSynced = false
  #current: StoreSnapshot<T>
  /** The store has seen every change up to this version. */
  #completeTo = ''
  /** Own results and single reads during a list: the list may be older than they are. */
  #learned: Set<string> | undefined
  /** Deletions by own writes during a list: the list may still show these objects. */
  #ended: ObjectIdentity[] = []

  constructor(indexes: Indexes<T>) {
    this.#indexes = indexes
    this.#current = new StoreSnapshot(indexes)
    this.reader = this.#createReader()
  }

  /**
   * Takes a state of an object: from the watch, from an own write, or from a single read.
   * Returns the changes. None if a newer state is known already.
   */
  put(after: T, cause: 'watch' | 'own' | 'read'): readonly InformerEvent<T>[] {
    if (this.#tombstones.covers(after)) return []
    const before = this.#current.objects.get(after.key)
    // The answer to an own write may arrive after the deletion of the object, unseen between two lists.
    if (before === undefined && cause !== 'watch' && !isNewer(after, { resourceVersion: this.#completeTo })) return []
    if (before !== undefined && !isNewer(after, before)) return []
    this.#current.set(after)
    if (cause !== 'watch') this.#learned?.add(after.key)
    if (before === undefined) return [{ type: 'added', object: after }]
    if (before.uid === after.uid) return [{ type: 'updated', before, after, cause: cause === 'own' ? 'own' : 'watch' }]
    // Deleted and created again under the same name: two objects.
    this.#tombstones.add(before)
    return [
      { type: 'deleted', object: before },
      { type: 'added', object: after },
    ]
  }

  /** Removes a deleted object, or an object that the projection rejects now. A newer object of the same name stays. */
  remove(gone: ObjectIdentity): readonly InformerEvent<T>[] {
    const before = this.#current.objects.get(gone.key)
    if (before !== undefined && before.uid !== gone.uid && !isNewer(gone, before)) return []
    this.#tombstones.add(gone)
    if (this.#learned !== undefined) this.#ended.push(gone)
    if (before === undefined) return []
    this.#current.delete(gone.key)
    const version = isNewer(gone, before) ? { version: gone.resourceVersion } : {}
    return [{ type: 'deleted', object: before, ...version }]
  }

  /** Every change up to this version is in the store. */
  reached(resourceVersion: string): void {
    this.#completeTo = resourceVersion
  }

  /** An empty snapshot for a list that is about to be requested; `replace` makes it the current one. */
  begin(): StoreSnapshot<T> {
    this.#learned = new Set()
    this.#ended = []
    return new StoreSnapshot(this.#indexes)
  }

  /**
   * Makes a complete list the current state, at once for all readers. The returned changes are computed lazily, so that
   * thousands of them can be delivered in batches; only own results may come in between.
   */
  replace(next: StoreSnapshot<T>, resourceVersion: string): Iterable<InformerEvent<T>> {
    const old = this.#current.objects
    // Only these deletions, not all tombstones: a restored server may hold deleted objects again.
    for (const gone of this.#ended) {
      const listed = next.objects.get(gone.key)
      if (listed?.uid === gone.uid && !isNewer(listed, gone)) next.delete(gone.key)
    }
    for (const key of this.#learned ?? []) {
      const learned = old.get(key)
      if (learned !== undefined && isNewer(learned, { resourceVersion })) next.set(learned)
    }
    this.#learned = undefined
    this.#ended = []
    this.#completeTo = resourceVersion
    const vanished = [...old.values()].filter(({ key, uid }) => next.objects.get(key)?.uid !== uid)
    for (const { key, uid } of vanished) this.#tombstones.add({ key, uid, resourceVersion })
    this.#current = next
    this.#isSynced = true
    this.#synced.resolve()
    return differences(old, next.objects, vanished)
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

function* differences<T extends Cached>(
  old: ReadonlyMap<string, T>,
  next: ReadonlyMap<string, T>,
  vanished: readonly T[],
): Generator<InformerEvent<T>> {
  for (const object of vanished) yield { type: 'deleted', object }
  for (const [key, after] of next) {
    const before = old.get(key)
    if (before === undefined || before.uid !== after.uid) yield { type: 'added', object: after }
    else if (before.resourceVersion !== after.resourceVersion) yield { type: 'updated', before, after, cause: 'watch' }
  }
}

interface Versioned {
  readonly resourceVersion: string
}

/** Compares two versions. Versions that are no numbers cannot be compared: then the later news is newer. */
export function isNewer(news: Versioned, known: Versioned): boolean {
  const order = compareResourceVersions(news.resourceVersion, known.resourceVersion)
  return order > 0 || (order === 0 && news.resourceVersion !== known.resourceVersion)
}

/** States that arrive after their deletion are late by seconds at most, so this many deletions are enough. */
const REMEMBERED = 2000

/** The recently deleted objects, so that no older state brings them back. Bounded: the oldest are forgotten first. */
export class Tombstones {
  readonly #byKey = new Map<string, ObjectIdentity>()

  /** Ignores all states of the object up to this version from now on. */
  add({ key, uid, resourceVersion }: ObjectIdentity): void {
    this.#byKey.delete(key)
    this.#byKey.set(key, { key, uid, resourceVersion })
    if (this.#byKey.size <= REMEMBERED) return
    const [oldest] = this.#byKey.keys()
    if (oldest !== undefined) this.#byKey.delete(oldest)
  }

  /** Reports whether the news are too late. Another object of the same name, or a later state, is not. */
  covers(news: ObjectIdentity): boolean {
    const ended = this.#byKey.get(news.key)
    return ended !== undefined && ended.uid === news.uid && !isNewer(news, ended)
  }
}
