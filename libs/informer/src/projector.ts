import type { KubeObject, Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Cached, ObjectIdentity } from './reader.ts'

/** How objects of the API server become cached objects. Undefined leaves an object out of the cache. */
export interface ProjectorOptions<W, T> {
  project(object: W, intern: Interner): T | undefined
  readonly intern: Interner
  readonly resource: Resource<W>
  readonly log: Logger
}

/** The largest number of invalid objects that are logged: all objects of a cluster may be invalid. */
const MAX_REPORTED = 1000

/** Applies the projection of a cache. An invalid object causes one log line and affects no other object. */
export class Projector<W extends KubeObject, T extends Cached> {
  readonly #options: ProjectorOptions<W, T>
  readonly #reported = new Set<string>()

  constructor(options: ProjectorOptions<W, T>) {
    this.#options = options
  }

  /** Returns the fields to cache. Undefined if the projection rejects or throws. */
  project(object: W): T | undefined {
    try {
      return this.#options.project(object, this.#options.intern)
    } catch (error) {
      this.#reportOnce(error, object)
      return undefined
    }
  }

  /** Returns the identity of an object. Undefined, with one log line, if it has no name or no version. */
  identify(object: W): ObjectIdentity | undefined {
    const identity = identityOf(object)
    if (identity === undefined) this.#reportOnce(new Error('the object has no name or no resourceVersion'), object)
    return identity
  }

  #reportOnce(error: unknown, object: W): void {
    const { key, uid } = identityOf(object) ?? { key: '', uid: '' }
    const id = `${key}/${uid}`
    if (this.#reported.has(id) || this.#reported.size === MAX_REPORTED) return
    this.#reported.add(id)
    this.#options.log.error(error, 'Ignoring an object that cannot be understood', {
      resource: this.#options.resource.plural,
      object: key,
    })
  }
}

function identityOf(object: KubeObject): ObjectIdentity | undefined {
  const { name, namespace, uid, resourceVersion } = object.metadata ?? {}
  if (typeof name !== 'string' || typeof resourceVersion !== 'string') return undefined
  return { key: namespace ? `${namespace}/${name}` : name, uid: uid ?? '', resourceVersion }
}

type Texts = readonly string[]
type TextMap = Readonly<Record<string, string>>

/** The number of texts that are shared: enough for the names of all nodes, drivers and classes of a cluster. */
const MAX_TEXTS = 20_000
/** The limit for shared maps, and the limit for different first texts of shared lists. */
const MAX_GROUPS = 1000
const MAX_LISTS_PER_FIRST_TEXT = 10

/**
 * Keeps one copy of texts, lists and maps that many objects repeat, for example the names of nodes and drivers. Do not
 * use it for values that differ in each object: they would fill its tables.
 */
export class Interner {
  readonly #texts = new Map<string, string>()
  /** The shared lists by their first text. A key of all texts would make each look-up slower. */
  readonly #lists = new Map<string, Texts[]>()
  readonly #maps = new Map<string, TextMap>()

  text(text: string): string
  text(text: string | null | undefined): string | undefined
  text(text: string | null | undefined): string | undefined {
    if (text == null) return undefined
    const shared = this.#texts.get(text)
    if (shared === undefined && this.#texts.size < MAX_TEXTS) this.#texts.set(text, text)
    return shared ?? text
  }

  list(list: Texts | null | undefined): Texts | undefined {
    if (list == null) return undefined
    const first = list[0] ?? ''
    const lists = this.#lists.get(first) ?? remember(this.#lists, first, [])
    const shared = lists.find((each) => each.length === list.length && each.every((text, i) => text === list[i]))
    if (shared !== undefined) return shared
    const added = list.map((text) => this.text(text))
    if (lists.length < MAX_LISTS_PER_FIRST_TEXT) lists.push(added)
    return added
  }

  map(map: TextMap | null | undefined): TextMap | undefined {
    if (map == null) return undefined
    const key = JSON.stringify(map)
    return this.#maps.get(key) ?? remember(this.#maps, key, map)
  }
}

function remember<T>(remembered: Map<string, T>, key: string, value: T): T {
  if (remembered.size < MAX_GROUPS) remembered.set(key, value)
  return value
}
