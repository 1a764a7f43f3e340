import type { Clock } from '@csi-sidecars/base'
import {
  type Cached,
  createInformer,
  type Informer,
  type InformerOptions,
  type Interner,
  SharedWatch,
} from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'

/** A cache that is filled on leaders and standbys. */
export interface Cache {
  /** The name of the cached kind, for people: `VolumeAttachments`. */
  readonly name: string
  readonly synced: boolean
  /** Milliseconds since the last message from the API server for the cache. */
  readonly silentForMs: number
  run(signal: AbortSignal): Promise<void>
}

export function cacheOf(
  name: string,
  informer: Pick<Informer<unknown, never>, 'store' | 'run' | 'lastActivity'>,
  clock: Clock,
): Cache {
  return {
    name,
    get synced() {
      return informer.store.synced
    },
    get silentForMs() {
      return clock.monotonic() - informer.lastActivity
    },
    run: (signal) => informer.run(signal),
  }
}

type CacheOptions<W extends KubeObject, T extends Cached> = Omit<InformerOptions<W, T>, 'client' | 'clock' | 'log'>

/** The options of a list and its watch. They are the same for all caches of a kind. */
type WatchedKind<W extends KubeObject> = Pick<InformerOptions<W, Cached>, 'resource' | 'message'>

interface SharedOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  /** True: caches keep the annotation `traceparent` of their objects. */
  readonly isTraced?: boolean
}

interface OpenCaches {
  readonly caches: Cache[]
  /** The shared watches, by the plural name of the kind. */
  readonly watches: Map<string, SharedWatch<never>>
}

/** The caches of one process. All caches of a kind share one list and watch, even caches of different apps. */
export class CacheRegistry {
  readonly #shared: SharedOptions
  readonly #opened: OpenCaches
  readonly #owner: string | undefined

  constructor(common: SharedOptions, opened: OpenCaches = { caches: [], watches: new Map() }, owner?: string) {
    this.#shared = common
    this.#opened = opened
    this.#owner = owner
  }

  /** Returns a registry for one app. It shares all caches with this registry, and names new caches after the app. */
  ownedBy(owner: string): CacheRegistry {
    return new CacheRegistry(this.#shared, this.#opened, owner)
  }

  get all(): readonly Cache[] {
    return this.#opened.caches
  }

  /** Opens a cache of one kind. The process runs it after the start. */
  open<W extends KubeObject, T extends Cached>(name: string, options: CacheOptions<W, T>): Informer<T, W> {
    const informer = this.create({ ...options, watch: this.#watchOf(options) })
    const named = this.#owner === undefined ? name : `${name} of ${this.#owner}`
    this.add(cacheOf(named, informer, this.#shared.clock))
    return informer
  }

  /** Creates a cache, which the caller may wrap and then passes to `add`. */
  create<W extends KubeObject, T extends Cached>(options: CacheOptions<W, T>): Informer<T, W> {
    const project = this.#shared.isTraced === true ? withTraceparent(options.project) : options.project
    return createInformer({ ...this.#shared, ...options, project })
  }

  #watchOf<W extends KubeObject>({ resource, message }: WatchedKind<W>): SharedWatch<W> {
    // The cast is safe, because all watches under the plural of a kind have the same type of objects.
    const watch = this.#opened.watches.get(resource.plural) as SharedWatch<W> | undefined
    if (watch !== undefined) return watch
    const created = new SharedWatch({ ...this.#shared, resource, message })
    this.#opened.watches.set(resource.plural, created as unknown as SharedWatch<never>)
    return created
  }

  add(cache: Cache): void {
    this.#opened.caches.push(cache)
  }
}

const TRACEPARENT = 'traceparent'

type Project<W, T> = (object: W, intern: Interner) => T | undefined

/** Wraps a projection, so that cached objects keep the annotation `traceparent`. */
function withTraceparent<W extends KubeObject, T extends Cached>(project: Project<W, T>): Project<W, T> {
  return (object, intern) => {
    const kept = project(object, intern)
    const traceparent: unknown = object.metadata?.annotations?.[TRACEPARENT]
    return kept === undefined || typeof traceparent !== 'string' ? kept : { ...kept, traceparent }
  }
}
