import type {
  CSIDriver,
  CSINode,
  Event,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import type { PendingItem } from './pending.ts'

/** The result of a read. `unseen`: the read was refused or never made. */
export type ReadResult<T> =
  | { readonly is: 'present'; readonly object: T }
  | { readonly is: 'absent' }
  | { readonly is: 'unseen' }

/** Objects of one kind, by name or by `namespace/name`. */
export interface ObjectTable<T> {
  get(name: string): ReadResult<T>
  /** All objects of the kind were listed: other objects do not exist. */
  readonly complete: boolean
  /** The objects that exist. */
  readonly present: readonly T[]
}

/** Collects the objects of reads. */
export class KnownObjects<T> implements ObjectTable<T> {
  readonly #seen = new Map<string, ReadResult<T>>()
  complete = false

  get(name: string): ReadResult<T> {
    return this.#seen.get(name) ?? { is: this.complete ? 'absent' : 'unseen' }
  }

  has(name: string): boolean {
    return this.complete || this.#seen.has(name)
  }

  set(name: string, seen: ReadResult<T>): void {
    this.#seen.set(name, seen)
  }

  get present(): readonly T[] {
    return [...this.#seen.values()].flatMap((seen) => objectOf(seen) ?? [])
  }
}

/** A part of the cluster that could not be seen. */
export interface Unseen {
  readonly what: string
  readonly why: string
  /** Without it no answer can be "nothing is stuck". */
  readonly essential: boolean
}

/** All objects that were read at about one moment. Findings are made of them. */
export interface ClusterFacts {
  /** Wall time of this machine. */
  readonly now: number
  /** Younger work that has not failed is under way, not stuck. */
  readonly stuckAfterMs: number
  readonly pods: readonly Pod[]
  readonly claims: ObjectTable<PersistentVolumeClaim>
  readonly volumes: ObjectTable<PersistentVolume>
  readonly attachments: readonly VolumeAttachment[]
  /** These and others on the same nodes, to be counted. */
  readonly neighbours: readonly VolumeAttachment[]
  readonly csiNodes: ObjectTable<CSINode>
  readonly nodes: ObjectTable<Node>
  readonly drivers: ObjectTable<CSIDriver>
  readonly storageClasses: ObjectTable<StorageClass>
  readonly attributesClasses: ObjectTable<VolumeAttributesClass>
  readonly snapshots: ObjectTable<VolumeSnapshot>
  readonly contents: ObjectTable<VolumeSnapshotContent>
  readonly snapshotClasses: ObjectTable<VolumeSnapshotClass>
  /** Undefined: they could not be read. */
  readonly leases: readonly Lease[] | undefined
  /** The events, by the uid of their object. */
  readonly events: ReadonlyMap<string, readonly Event[]>
  /** The items of `/debug/stuck` of all reachable leaders, by the text of their object. */
  readonly pending: ReadonlyMap<string, readonly PendingItem[]>
  /** The rules that the roles of the leaders lack, by the `namespace/name` of their Lease. */
  readonly missingPermissions: ReadonlyMap<string, readonly string[]>
  /** The pods of sidecars, by the `namespace/name` of their Lease. */
  readonly sidecarPods: ReadonlyMap<string, readonly Pod[]>
  /** The Leases whose holder is not a pod of their namespace, by `namespace/name`. */
  readonly holdersGone: ReadonlySet<string>
  readonly unseen: readonly Unseen[]
}

export function objectOf<T>(seen: ReadResult<T>): T | undefined {
  return seen.is === 'present' ? seen.object : undefined
}

/** Names one object as people write it. */
export interface KindRef {
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** Any object, by its name. */
export interface Named {
  readonly metadata?: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined
}

export function refOf(kind: string, { metadata }: Named): KindRef {
  return { kind, namespace: metadata?.namespace, name: metadata?.name ?? '' }
}

/** `default/data`, or the bare name of an object without a namespace. */
export function keyOf({ namespace, name }: Omit<KindRef, 'kind'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** `PersistentVolumeClaim default/data`. */
export function textOf(ref: KindRef): string {
  return `${ref.kind} ${keyOf(ref)}`
}

export function byObject(items: readonly PendingItem[]): ClusterFacts['pending'] {
  return groupedBy(items, textOf)
}

export function byUid(events: readonly Event[]): ClusterFacts['events'] {
  return groupedBy(events, ({ involvedObject }) => involvedObject.uid ?? '')
}

/** Map.groupBy, which Node 20 does not have yet. */
export function groupedBy<T>(items: Iterable<T>, keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** Returns the milliseconds of a timestamp of the API. Undefined if it is missing or invalid. */
export function timeOf(text: string | null | undefined): number | undefined {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** The CSI driver of a volume, also of one that has been migrated. */
export function driverOf({ metadata, spec }: PersistentVolume): string | undefined {
  return spec?.csi?.driver ?? metadata?.annotations?.['pv.kubernetes.io/migrated-to']
}

/** The names of the claims that a pod uses, generic ephemeral volumes among them. */
export function claimNamesOf({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName]
    return ephemeral === undefined ? [] : [`${metadata?.name}-${name}`]
  })
}

/** `namespace/name` of the claims that a pod uses. */
export function claimKeysOf(pod: Pod): readonly string[] {
  return claimNamesOf(pod).map((name) => keyOf({ namespace: pod.metadata?.namespace, name }))
}

/** Reports whether a pod has yet to start, or to end: else it waits for no volume. */
export function mayWait({ metadata, status }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined || !hasStarted(status)
}

/** After its node was restarted a running pod gets its volumes again, and its containers wait for that. */
function hasStarted(status: Pod['status']): boolean {
  const { phase = 'Pending', conditions, containerStatuses } = status ?? {}
  if (phase !== 'Running') return phase !== 'Pending' || isTrue(conditions, 'Ready')
  return !containerStatuses?.some(({ state }) => state?.waiting?.reason === 'ContainerCreating')
}

interface Condition {
  readonly type: string
  readonly status: string
}

function isTrue(conditions: readonly Condition[] | undefined, wanted: string): boolean {
  return conditions?.some(({ type, status }) => type === wanted && status === 'True') === true
}

/** Reports whether a pod still holds its volumes. */
export function isRunning({ status }: Pod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}
