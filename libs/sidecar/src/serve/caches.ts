import type { Clock } from '@csi-sidecars/base'
import {
  type Cached,
  createInformer,
  type Informer,
  type InformerOptions,
  type Interner,
  type MissingPermissions,
  SharedWatch,
} from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'

/** A cache that is filled on leader and standby alike. */
export interface Cache {
  /** What it holds, for people: `VolumeAttachments`. */
  readonly name: string
  readonly synced: boolean
  /** Milliseconds since anything was heard from the API server for it. */
  readonly silentForMs: number
  run(signal: AbortSignal): Promise<void>
}

/** An informer as a cache of the process. */
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

/** What a list and a watch are about. All caches of a kind read it in the same way. */
type WatchedKind<W extends KubeObject> = Pick<InformerOptions<W, Cached>, 'resource' | 'message'>

interface Common {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly missing?: MissingPermissions
  /** Whether annotations `traceparent` are kept. */
  readonly traced?: boolean
}

interface Opened {
  readonly caches: Cache[]
  /** By the plural of the kind. */
  readonly watches: Map<string, SharedWatch<never>>
}

/** The caches of one process. Those of one kind share its list and watch, whichever app they are for. */
export class CacheRegistry {
  readonly #common: Common
  readonly #opened: Opened
  readonly #owner: string | undefined

  constructor(common: Common, opened: Opened = { caches: [], watches: new Map() }, owner?: string) {
    this.#common = common
    this.#opened = opened
    this.#owner = owner
  }

  /** The same caches, for one app of several: their names say whose they are. */
  ownedBy(owner: string): CacheRegistry {
    return new CacheRegistry(this.#common, this.#opened, owner)
  }

  get all(): readonly Cache[] {
    return this.#opened.caches
  }

  /** A cache of one kind, which runs from the end of the start on. */
  open<W extends KubeObject, T extends Cached>(name: string, options: CacheOptions<W, T>): Informer<T, W> {
    const informer = this.create({ ...options, watch: this.#watchOf(options) })
    const named = this.#owner === undefined ? name : `${name} of ${this.#owner}`
    this.add(cacheOf(named, informer, this.#common.clock))
    return informer
  }

  /** A cache that the caller adds in a form of its own. */
  create<W extends KubeObject, T extends Cached>(options: CacheOptions<W, T>): Informer<T, W> {
    const project = this.#common.traced === true ? withTraceparent(options.project) : options.project
    return createInformer({ ...this.#common, ...options, project })
  }

  #watchOf<W extends KubeObject>({ resource, message }: WatchedKind<W>): SharedWatch<W> {
    // A resource has one type of objects, so what is kept under its name is a watch of that type.
    const known = this.#opened.watches.get(resource.plural) as SharedWatch<W> | undefined
    if (known !== undefined) return known
    const created = new SharedWatch({ ...this.#common, resource, message })
    this.#opened.watches.set(resource.plural, created as unknown as SharedWatch<never>)
    return created
  }

  add(cache: Cache): void {
    this.#opened.caches.push(cache)
  }
}

const TRACEPARENT = 'traceparent'

type Project<W, T> = (object: W, intern: Interner) => T | undefined

/** Keeps the annotation beside what is kept otherwise; of an object without it nothing more. */
function withTraceparent<W extends KubeObject, T extends Cached>(project: Project<W, T>): Project<W, T> {
  return (object, intern) => {
    const kept = project(object, intern)
    const traceparent: unknown = object.metadata?.annotations?.[TRACEPARENT]
    return kept === undefined || typeof traceparent !== 'string' ? kept : { ...kept, traceparent }
  }
}
