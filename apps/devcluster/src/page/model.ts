import type { Cancel, Clock } from '@csi-sidecars/base'
import { type Cached, createInformer, type Informer, type InformerEvent } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { EVENTS, type Event } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { ATTACHMENTS_BY_VOLUME, type Caches, PODS_BY_CLAIM } from '../caches/caches.ts'
import { identityOf } from '../caches/identity.ts'
import { claimKeysOf } from '../caches/pod.ts'
import { claimKeyOf, type Volume } from '../caches/volume.ts'
import { type Row, rowOf } from './rows.ts'

/** One event of the API, as the page tells it. */
export interface PageEvent {
  readonly time: string
  readonly type: string
  readonly about: string
  readonly reason: string
  readonly message: string
}

export interface PageNode {
  readonly name: string
  readonly ready: boolean
}

/** What a page that was just opened has to know. */
export interface Snapshot {
  readonly nodes: readonly PageNode[]
  readonly rows: readonly Row[]
  readonly events: readonly PageEvent[]
}

/** What has changed since; what is left out has not. */
export interface Change {
  readonly nodes?: readonly PageNode[]
  readonly rows?: readonly Row[]
  readonly gone?: readonly string[]
  readonly events?: readonly PageEvent[]
}

/** Changes are gathered for so long: a page that is drawn more often shows nobody more. */
const GATHER_MS = 100
/** How many events a page begins with. */
const RECENT = 50

interface CachedEvent extends Cached, PageEvent {}

/** The page's view of the cluster, kept up to date from the caches. */
export class PageModel {
  readonly #caches: Caches
  readonly #clock: Clock
  readonly #tell: (change: Change) => void
  readonly #events: Informer<CachedEvent, Event>
  readonly #rows = new Map<string, Row>()
  /** What each line looked like when it was last told. */
  readonly #told = new Map<string, string>()
  readonly #dirty = new Set<string>()
  #nodesChanged = false
  #newEvents: PageEvent[] = []
  #recent: PageEvent[] = []
  #gathering: Cancel | undefined

  constructor(options: {
    caches: Caches
    client: KubeClient
    clock: Clock
    log: Logger
    tell: (change: Change) => void
  }) {
    const { caches, client, clock, log, tell } = options
    this.#caches = caches
    this.#clock = clock
    this.#tell = tell
    this.#events = createInformer({ client, clock, log, resource: EVENTS, project: pageEvent, resyncMs: 0 })
  }

  snapshot(): Snapshot {
    return { nodes: this.#nodes(), rows: [...this.#rows.values()], events: this.#recent }
  }

  /** Follows the caches until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    const { claims, volumes, pods, attachments, nodes } = this.#caches
    const undo = [
      claims.subscribe((event) => this.#touch(latest(event).key, PV + latest(event).volumeName)),
      volumes.subscribe((event) => this.#touch(...rowIdsOf(latest(event)))),
      pods.subscribe((event) => this.#touch(...claimKeysOf(latest(event)))),
      attachments.subscribe((event) => this.#touchVolume(latest(event).pvName)),
      nodes.subscribe(() => this.#touchNodes()),
      this.#events.subscribe((event) => event.type !== 'deleted' && this.#addEvent(latest(event))),
    ]
    for (const { key } of claims.store.values()) this.#dirty.add(key)
    for (const volume of volumes.store.values()) for (const id of rowIdsOf(volume)) this.#dirty.add(id)
    this.#flush()
    try {
      await this.#events.run(signal)
    } finally {
      for (const each of undo) each()
      this.#gathering?.()
    }
  }

  #touch(...ids: readonly string[]): void {
    for (const id of ids) this.#dirty.add(id)
    this.#gather()
  }

  #touchVolume(pvName: string | undefined): void {
    const volume = pvName === undefined ? undefined : this.#caches.volumes.store.get(pvName)
    if (volume !== undefined) this.#touch(...rowIdsOf(volume))
  }

  #touchNodes(): void {
    this.#nodesChanged = true
    this.#gather()
  }

  #addEvent({ time, type, about, reason, message }: CachedEvent): void {
    const event = { time, type, about, reason, message }
    this.#newEvents.push(event)
    this.#recent = [...this.#recent, event].slice(-RECENT)
    this.#gather()
  }

  #gather(): void {
    this.#gathering ??= this.#clock.schedule(GATHER_MS, () => this.#flush())
  }

  #flush(): void {
    this.#gathering = undefined
    const rows: Row[] = []
    const gone: string[] = []
    for (const id of this.#dirty) {
      const row = this.#observe(id)
      const text = JSON.stringify(row)
      if (row === undefined) {
        if (this.#rows.delete(id)) gone.push(id)
        this.#told.delete(id)
      } else if (this.#told.get(id) !== text) {
        this.#rows.set(id, row)
        this.#told.set(id, text)
        rows.push(row)
      }
    }
    const change: Change = {
      ...(rows.length > 0 && { rows }),
      ...(gone.length > 0 && { gone }),
      ...(this.#nodesChanged && { nodes: this.#nodes() }),
      ...(this.#newEvents.length > 0 && { events: this.#newEvents.slice(-RECENT) }),
    }
    this.#dirty.clear()
    this.#nodesChanged = false
    this.#newEvents = []
    if (Object.keys(change).length > 0) this.#tell(change)
  }

  /** A line as it is now. Its id is the claim's key, or `pv/` and the name of a volume without one. */
  #observe(id: string): Row | undefined {
    const { claims, volumes, attachments, pods } = this.#caches
    const claim = id.startsWith(PV) ? undefined : claims.store.get(id)
    const pvName = id.startsWith(PV) ? id.slice(PV.length) : claim?.volumeName
    const volume = pvName ? volumes.store.get(pvName) : undefined
    const owner = volume?.claimRef && claims.store.get(claimKeyOf(volume.claimRef))
    // A volume whose claim is there has its line with that.
    if (claim === undefined && owner?.volumeName === pvName) return undefined
    return rowOf(id, {
      claim,
      volume,
      attachments: pvName ? attachments.store.byIndex(ATTACHMENTS_BY_VOLUME, pvName) : [],
      pods: claim === undefined ? [] : pods.store.byIndex(PODS_BY_CLAIM, claim.key),
    })
  }

  #nodes(): readonly PageNode[] {
    const nodes = [...this.#caches.nodes.store.values()].map(({ key, ready }) => ({ name: key, ready }))
    return nodes.sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
  }
}

const PV = 'pv/'

/** The lines on which a volume may stand: that of its claim, and one of its own. */
function rowIdsOf({ key, claimRef }: Volume): readonly string[] {
  return claimRef === undefined ? [PV + key] : [claimKeyOf(claimRef), PV + key]
}

function latest<T>(event: InformerEvent<T>): T {
  return event.type === 'updated' ? event.after : event.object
}

function pageEvent(event: Event): CachedEvent {
  const { involvedObject, reason = '', message = '', type = '', lastTimestamp, metadata } = event
  const time = lastTimestamp ?? metadata?.creationTimestamp ?? ''
  const about = `${involvedObject.kind?.toLowerCase() ?? ''}/${involvedObject.name ?? ''}`
  return { ...identityOf(event), time, type, about, reason, message }
}
