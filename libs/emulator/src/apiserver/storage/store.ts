import type { KubeObject } from '../schema/json.ts'
import { KINDS, type Kind } from '../schema/kinds.ts'
import { Collection, type Entry, type HistoryLimits } from './collection.ts'

/** Enough for a client that was disconnected for a while, and little memory. For each kind. */
const DEFAULT_HISTORY: HistoryLimits = { changes: 50_000, bytes: 16 * 1024 * 1024 }

/**
 * Everything that is stored. One counter numbers the writes of all kinds.
 * Nothing here waits, so a caller that reads and writes without awaiting is alone.
 */
export class Store {
  readonly #collections: ReadonlyMap<Kind, Collection>
  #revision: number

  constructor(options: { startsAt?: number; history?: HistoryLimits } = {}) {
    const { startsAt = 1, history = DEFAULT_HISTORY } = options
    this.#revision = startsAt
    this.#collections = new Map(KINDS.map((kind) => [kind, new Collection(kind, startsAt, history)]))
  }

  /** Of the newest write. */
  get revision(): number {
    return this.#revision
  }

  of(kind: Kind): Collection {
    const found = this.#collections.get(kind)
    if (found === undefined) throw new RangeError(`no such kind: ${kind.kind}`)
    return found
  }

  get collections(): Iterable<Collection> {
    return this.#collections.values()
  }

  put(kind: Kind, key: string, object: KubeObject): Entry {
    this.#revision += 1
    return this.of(kind).put(key, object, this.#revision)
  }

  remove(kind: Kind, key: string, last: KubeObject): Entry {
    this.#revision += 1
    return this.of(kind).remove(key, last, this.#revision)
  }

  /** Drops all history: a request for an older version gets 410. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.compact(this.#revision)
  }
}
