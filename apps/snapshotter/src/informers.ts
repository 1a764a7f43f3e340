import { Backoff, type Clock } from '@csi-sidecars/base'
import { isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject, Resource } from '@csi-sidecars/kube-types'
import { type Cache, type CacheRegistry, cacheOf } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { projectClass, type SnapshotClass } from './caches/class.ts'
import type { Content } from './caches/content.ts'
import { NODE_LABEL } from './caches/names.ts'
import { GROUP, type Kind, SNAPSHOT } from './content/kinds.ts'
import type { KindCaches } from './parts.ts'

export interface CacheOptions {
  readonly client: KubeClient
  readonly caches: CacheRegistry
  readonly driverName: string
  /** With --node-deployment: the node whose contents are kept. */
  readonly nodeName: string | undefined
  readonly resyncMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** Opens the caches of single snapshots. Their CRDs may be installed later: the caches wait for them. */
export function openSnapshotCaches(options: CacheOptions): KindCaches {
  const { caches, clock } = options
  const { contents, classes } = createCaches(SNAPSHOT, options)
  const served = new ServedKinds(options, [SNAPSHOT.resource, SNAPSHOT.classes])
  caches.add(served.cacheOf(cacheOf('VolumeSnapshotContents', contents, clock)))
  caches.add(served.cacheOf(cacheOf('VolumeSnapshotClasses', classes, clock)))
  return { contents, classes }
}

/** Opens the caches of group snapshots, whose CRDs exist. */
export function openGroupCaches(options: CacheOptions): KindCaches {
  const { caches, clock } = options
  const { contents, classes } = createCaches(GROUP, options)
  caches.add(cacheOf('VolumeGroupSnapshotContents', contents, clock))
  caches.add(cacheOf('VolumeGroupSnapshotClasses', classes, clock))
  return { contents, classes }
}

/** Classes carry no label of a node, so only contents are selected by it. */
function createCaches(kind: Kind, { caches, driverName, nodeName, resyncMs }: CacheOptions): KindCaches {
  const labelSelector = nodeName === undefined ? undefined : `${NODE_LABEL}=${nodeName}`
  const contents = caches.create<KubeObject, Content>({
    resource: kind.resource,
    project: kind.project(driverName),
    labelSelector,
    resyncMs,
  })
  const classes = caches.create<KubeObject, SnapshotClass>({
    resource: kind.classes,
    project: projectClass,
    resyncMs,
  })
  return { contents, classes }
}

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 5_000
const REPORT_MS = 60_000

/** Waits until the API server serves some kinds of one group. */
class ServedKinds {
  readonly #options: Pick<CacheOptions, 'client' | 'clock' | 'log'>
  readonly #resources: readonly Resource<KubeObject>[]
  #waiting: Promise<void> | undefined
  #missing = false
  #heardAt = 0

  constructor(options: Pick<CacheOptions, 'client' | 'clock' | 'log'>, resources: readonly Resource<KubeObject>[]) {
    this.#options = options
    this.#resources = resources
  }

  /** The same cache, which is filled when its kind is served. Its name says why it is empty. */
  cacheOf(cache: Cache): Cache {
    const nameOf = (): string => (this.#missing ? `${cache.name} (the CRDs of ${this.#group} are missing)` : cache.name)
    const silentForMs = (): number =>
      this.#missing ? this.#options.clock.monotonic() - this.#heardAt : cache.silentForMs
    return {
      get name() {
        return nameOf()
      },
      get synced() {
        return cache.synced
      },
      get silentForMs() {
        return silentForMs()
      },
      run: async (signal) => {
        this.#waiting ??= this.#untilServed(signal)
        await this.#waiting
        await cache.run(signal)
      },
    }
  }

  get #group(): string {
    const [{ group, version } = { group: '', version: '' }] = this.#resources
    return `${group}/${version}`
  }

  async #untilServed(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const pauses = new Backoff({
      initialMs: FIRST_PAUSE_MS,
      maxMs: LONGEST_PAUSE_MS,
      jitter: 0.2,
      random: () => clock.random(),
    })
    let reportedAt = Number.NEGATIVE_INFINITY
    for (;;) {
      const missing = await this.#firstMissing(signal)
      if (missing === undefined) break
      if (missing !== 'unknown') {
        this.#missing = true
        this.#heardAt = clock.monotonic()
        if (this.#heardAt - reportedAt >= REPORT_MS) {
          reportedAt = this.#heardAt
          log.warn('Waiting for the VolumeSnapshot CRDs: install them to use snapshots', { resource: missing })
        }
      }
      await clock.sleep(pauses.next(), signal)
    }
    if (this.#missing) log.info('The VolumeSnapshot CRDs are installed now')
    this.#missing = false
  }

  /** The first kind that is not served. Undefined if all are, or if the client may not ask: then the caches try. */
  async #firstMissing(signal: AbortSignal): Promise<string | undefined> {
    const [first] = this.#resources
    try {
      const answer = await this.#options.client.discover(`/apis/${this.#group}`, { signal })
      const { resources = [] } = answer as { readonly resources?: readonly { readonly name?: string }[] }
      return this.#resources.find(({ plural }) => !resources.some(({ name }) => name === plural))?.plural
    } catch (error) {
      signal.throwIfAborted()
      if (isNotFound(error)) return first?.plural
      return isForbidden(error) ? undefined : 'unknown'
    }
  }
}
