import type { Cancel, Clock } from '@csi-sidecars/base'
import { type Cached, createInformer, type Informer, type InformerEvent } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { EVENTS, type Event } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { ATTACHMENTS_BY_VOLUME, type Caches, PODS_BY_CLAIM, VOLUMES_BY_CLAIM } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import { identityOf } from '../caches/identity.ts'
import type { CachedNode } from '../caches/node.ts'
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
  /** The same again and again is one event that counts. */
  readonly id: string
  readonly count: number
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
  #newEvents: readonly PageEvent[] = []
  #recent: readonly PageEvent[] = []
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
      nodes.subscribe((event) => looksDifferent(event) && this.#touchNodes()),
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

  #addEvent({ time, type, about, reason, message, id, count }: CachedEvent): void {
    const event = { time, type, about, reason, message, id, count }
    this.#newEvents = withEvent(this.#newEvents, event)
    this.#recent = withEvent(this.#recent, event)
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
      ...(this.#newEvents.length > 0 && { events: this.#newEvents }),
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
    const volume = id.startsWith(PV) ? volumes.store.get(id.slice(PV.length)) : claim && this.#volumeOf(claim)
    // A volume whose claim is there has its line with that.
    if (claim === undefined && volume !== undefined && this.#ownerOf(volume) !== undefined) return undefined
    return rowOf(id, {
      claim,
      volume,
      attachments: volume === undefined ? [] : attachments.store.byIndex(ATTACHMENTS_BY_VOLUME, volume.key),
      pods: claim === undefined ? [] : pods.store.byIndex(PODS_BY_CLAIM, claim.key),
    })
  }

  /** The claim that stands for the volume: bound to it, or the one for which it was made. */
  #ownerOf(volume: Volume): Claim | undefined {
    const { claimRef, key } = volume
    const claim = claimRef && this.#caches.claims.store.get(claimKeyOf(claimRef))
    if (claim === undefined || claim.volumeName === key) return claim
    return claim.volumeName === '' && claimRef?.uid === claim.uid ? claim : undefined
  }

  #volumeOf(claim: Claim): Volume | undefined {
    const { store } = this.#caches.volumes
    if (claim.volumeName !== '') return store.get(claim.volumeName)
    return store.byIndex(VOLUMES_BY_CLAIM, claim.key).find(({ claimRef }) => claimRef?.uid === claim.uid)
  }

  #nodes(): readonly PageNode[] {
    const nodes = [...this.#caches.nodes.store.values()].map(({ key, ready }) => ({ name: key, ready }))
    return nodes.sort((a, b) => BY_NUMBER.compare(a.name, b.name))
  }
}

const PV = 'pv/'
/** node-10 comes after node-9. */
const BY_NUMBER = new Intl.Collator('en', { numeric: true })

/** Most that changes about a node is what it has attached, which the lines tell. */
function looksDifferent(event: InformerEvent<CachedNode>): boolean {
  return event.type !== 'updated' || event.before.ready !== event.after.ready
}

/** The lines on which a volume may stand: that of its claim, and one of its own. */
function rowIdsOf({ key, claimRef }: Volume): readonly string[] {
  return claimRef === undefined ? [PV + key] : [claimKeyOf(claimRef), PV + key]
}

/** The newest last, as many as a page shows. */
function withEvent(events: readonly PageEvent[], event: PageEvent): readonly PageEvent[] {
  return [...events.filter(({ id }) => id !== event.id), event].slice(-RECENT)
}

function latest<T>(event: InformerEvent<T>): T {
  return event.type === 'updated' ? event.after : event.object
}

function pageEvent(event: Event): CachedEvent {
  const { involvedObject, reason = '', message = '', type = '', lastTimestamp, count = 1, metadata } = event
  const time = lastTimestamp ?? metadata?.creationTimestamp ?? ''
  const about = `${involvedObject.kind?.toLowerCase() ?? ''}/${involvedObject.name ?? ''}`
  const identity = identityOf(event)
  return { ...identity, time, type, about, reason, message, id: identity.uid, count }
}
