import type { ApiObject } from '../schema/json.ts'
import { KINDS, type ServedKind } from '../schema/kinds.ts'
import { type HistoryLimits, KindCollection, type StoredEntry } from './collection.ts'

/** The default limits of the history of each kind, enough for a client that was disconnected for a while. */
const DEFAULT_HISTORY: HistoryLimits = { changes: 50_000, bytes: 16 * 1024 * 1024 }
/** The revision before the first write. */
const FIRST = 1

/**
 * All stored objects. One counter numbers the writes of all kinds. All methods are synchronous: without an `await`
 * between a read and a write, no other write can come between them.
 */
export class Store {
  readonly #collections: ReadonlyMap<ServedKind, KindCollection>
  #revision: number

  constructor(options: { history?: HistoryLimits } = {}) {
    const { history = DEFAULT_HISTORY } = options
    this.#revision = FIRST
    this.#collections = new Map(KINDS.map((kind) => [kind, new KindCollection(kind, FIRST, history)]))
  }

  /** The revision of the newest write. */
  get revision(): number {
    return this.#revision
  }

  of(kind: ServedKind): KindCollection {
    const found = this.#collections.get(kind)
    if (found === undefined) throw new RangeError(`no such kind: ${kind.kind}`)
    return found
  }

  get collections(): Iterable<KindCollection> {
    return this.#collections.values()
  }

  upsert(kind: ServedKind, key: string, object: ApiObject): StoredEntry {
    this.#revision += 1
    return this.of(kind).upsert(key, object, this.#revision)
  }

  remove(kind: ServedKind, key: string, last: ApiObject): StoredEntry {
    this.#revision += 1
    return this.of(kind).remove(key, last, this.#revision)
  }

  /** Drops all history: a request for an older version gets 410. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.compact(this.#revision)
  }
}
