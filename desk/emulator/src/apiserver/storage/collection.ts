import { expired } from '../http/api-failure.ts'
import { type ApiObject, freezeJson } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'

/** One stored version of an object. */
export interface StoredEntry {
  /** `name`, or `namespace/name`. */
  readonly key: string
  readonly object: ApiObject
  /** The JSON of the object for list items, which omit `apiVersion` and `kind`. */
  readonly text: string
  readonly revision: number
}

/** A change of one object, as watches deliver it. */
export interface StoredChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly revision: number
  /** The new state of the object. For DELETED, its last state with the revision of the deletion. */
  readonly entry: StoredEntry
  readonly before: StoredEntry | undefined
}

/** The number and the size of the kept changes. A watch from an older revision is refused. */
export interface HistoryLimits {
  /** The number of changes of one kind. */
  readonly changes: number
  readonly bytes: number
}

type ChangeListener = (change: StoredChange) => void

/** All objects of one kind, sorted by key, and the history of their last changes. */
export class KindCollection {
  readonly kind: ServedKind
  readonly #limits: HistoryLimits
  readonly #entries = new Map<string, StoredEntry>()
  readonly #keys: string[] = []
  readonly #listeners = new Set<ChangeListener>()
  #history: StoredChange[] = []
  #forgotten = 0
  #historyBytes = 0
  /** The history does not contain the changes up to and including this revision. */
  #compacted: number

  constructor(kind: ServedKind, startsAt: number, limits: HistoryLimits) {
    this.kind = kind
    this.#compacted = startsAt
    this.#limits = limits
  }

  get compactedRevision(): number {
    return this.#compacted
  }

  get(key: string): StoredEntry | undefined {
    return this.#entries.get(key)
  }

  /** Returns the keys that are greater than `after`, in order. */
  *keysAfter(after: string): Generator<string> {
    const start = firstIndex(this.#keys, 0, (key) => key > after)
    for (let index = start; index < this.#keys.length; index += 1) yield this.#keys[index] as string
  }

  *entries(): Generator<StoredEntry> {
    for (const key of this.#keys) {
      const entry = this.#entries.get(key)
      if (entry !== undefined) yield entry
    }
  }

  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  upsert(key: string, object: ApiObject, revision: number): StoredEntry {
    const before = this.#entries.get(key)
    const entry = entryOf(key, object, revision)
    this.#entries.set(key, entry)
    if (before === undefined) this.#keys.splice(this.#placeOf(key), 0, key)
    this.#remember({ type: before === undefined ? 'ADDED' : 'MODIFIED', revision, entry, before })
    return entry
  }

  remove(key: string, last: ApiObject, revision: number): StoredEntry {
    const before = this.#entries.get(key)
    const entry = entryOf(key, last, revision)
    this.#entries.delete(key)
    this.#keys.splice(this.#placeOf(key), 1)
    this.#remember({ type: 'DELETED', revision, entry, before })
    return entry
  }

  /** Returns the changes since a revision, oldest first. Throws 410 if the history has dropped some of them. */
  since(revision: number): readonly StoredChange[] {
    if (revision < this.#compacted) {
      throw expired(`too old resource version: ${revision} (${this.#compacted})`)
    }
    const behind = firstIndex(this.#history, this.#forgotten, (change) => change.revision > revision)
    return this.#history.slice(behind)
  }

  /** Returns the state at a revision of each object that has changed since. Undefined if it did not exist then. */
  differencesAt(revision: number): ReadonlyMap<string, StoredEntry | undefined> {
    const then = new Map<string, StoredEntry | undefined>()
    for (const change of this.since(revision)) {
      if (!then.has(change.entry.key)) then.set(change.entry.key, change.before)
    }
    return then
  }

  /** Drops the history up to a revision, like a compaction of etcd. */
  compact(revision: number): void {
    while (this.#forgotten < this.#history.length && (this.#oldest?.revision ?? Infinity) <= revision) this.#forget()
    this.#compacted = Math.max(this.#compacted, revision)
    this.#tidy()
  }

  /** Returns the position of a key in the sorted keys, or the position at which it belongs. */
  #placeOf(key: string): number {
    return firstIndex(this.#keys, 0, (each) => each >= key)
  }

  get #oldest(): StoredChange | undefined {
    return this.#history[this.#forgotten]
  }

  #remember(change: StoredChange): void {
    this.#history.push(change)
    this.#historyBytes += change.entry.text.length
    while (
      this.#history.length - this.#forgotten > this.#limits.changes ||
      (this.#historyBytes > this.#limits.bytes && this.#history.length - this.#forgotten > 1)
    ) {
      this.#forget()
    }
    this.#tidy()
    for (const listener of [...this.#listeners]) listener(change)
  }

  #forget(): void {
    const oldest = this.#oldest
    if (oldest === undefined) return
    this.#compacted = oldest.revision
    this.#historyBytes -= oldest.entry.text.length
    this.#forgotten += 1
  }

  /** Frees the dropped changes when they fill half of the history, because each cleanup copies the history. */
  #tidy(): void {
    if (this.#forgotten < 64 || this.#forgotten * 2 < this.#history.length) return
    this.#history = this.#history.slice(this.#forgotten)
    this.#forgotten = 0
  }
}

/** Returns the first index from `start` on for which `isBehind` is true, or else the length of the list. */
function firstIndex<T>(sorted: readonly T[], start: number, isBehind: (item: T) => boolean): number {
  let low = start
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBehind(sorted[middle] as T)) high = middle
    else low = middle + 1
  }
  return low
}

/** Returns a version of an object, with the revision as its `resourceVersion`. */
export function entryOf(key: string, object: ApiObject, revision: number): StoredEntry {
  const metadata = { ...object.metadata, resourceVersion: String(revision) }
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...rest } = object
  const text = JSON.stringify({ metadata, ...rest })
  return { key, object: freezeJson({ ...object, metadata }), text, revision }
}
