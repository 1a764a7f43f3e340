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

/** The result of a read. `unseen` means that the read was refused or never sent. */
export type ReadResult<T> =
  | { readonly kind: 'present'; readonly object: T }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unseen' }

/** Objects of one kind, by name or by `namespace/name`. */
export interface ObjectTable<T> {
  get(name: string): ReadResult<T>
  /** True if all objects of the kind were listed, so that any other object does not exist. */
  readonly complete: boolean
  /** The objects that were read and exist. */
  readonly present: readonly T[]
}

/** A part of the cluster that could not be read. */
export interface Unseen {
  readonly what: string
  readonly why: string
  /** True if the command cannot answer "nothing is stuck" without this part. */
  readonly essential: boolean
}

/** All objects that a command has read at about the same time. Findings are derived from them. */
export interface ClusterFacts {
  /** The time of this machine's clock, in milliseconds since 1970. */
  readonly now: number
  /** The age in milliseconds from which a wait counts as stuck. */
  readonly stuckAfterMs: number
  readonly pods: readonly Pod[]
  readonly claims: ObjectTable<PersistentVolumeClaim>
  readonly volumes: ObjectTable<PersistentVolume>
  readonly attachments: readonly VolumeAttachment[]
  /** The attachments from which the volumes of a node are counted. */
  readonly neighbours: readonly VolumeAttachment[]
  readonly csiNodes: ObjectTable<CSINode>
  readonly nodes: ObjectTable<Node>
  readonly drivers: ObjectTable<CSIDriver>
  readonly storageClasses: ObjectTable<StorageClass>
  readonly attributesClasses: ObjectTable<VolumeAttributesClass>
  readonly snapshots: ObjectTable<VolumeSnapshot>
  readonly contents: ObjectTable<VolumeSnapshotContent>
  readonly snapshotClasses: ObjectTable<VolumeSnapshotClass>
  /** The Leases that were read. Undefined if they could not be read. */
  readonly leases: readonly Lease[] | undefined
  /** The events, by the uid of their object. */
  readonly events: ReadonlyMap<string, readonly Event[]>
  /** The items of `/debug/stuck` of all reachable leaders, by their object, such as `Pod default/web`. */
  readonly pending: ReadonlyMap<string, readonly PendingItem[]>
  /** The RBAC rules that each leader lacks, by the `namespace/name` of its Lease. */
  readonly missingPermissions: ReadonlyMap<string, readonly string[]>
  /** The pods of sidecars, by the `namespace/name` of their Lease. */
  readonly sidecarPods: ReadonlyMap<string, readonly Pod[]>
  /** The Leases whose holder is no pod in the namespace of the Lease, by `namespace/name`. */
  readonly holdersGone: ReadonlySet<string>
  readonly unseen: readonly Unseen[]
}

/** The kind, namespace and name of one object. */
export interface KindRef {
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}

/** Any API object with a name. */
export interface Named {
  readonly metadata?: { readonly name?: string | undefined; readonly namespace?: string | undefined } | undefined
}

/** The objects that were read so far. */
export class KnownObjects<T> implements ObjectTable<T> {
  readonly #seen = new Map<string, ReadResult<T>>()
  complete = false

  get(name: string): ReadResult<T> {
    return this.#seen.get(name) ?? { kind: this.complete ? 'absent' : 'unseen' }
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

export function objectOf<T>(seen: ReadResult<T>): T | undefined {
  return seen.kind === 'present' ? seen.object : undefined
}

export function refOf(kind: string, { metadata }: Named): KindRef {
  return { kind, namespace: metadata?.namespace, name: metadata?.name ?? '' }
}

/** Returns a key such as `default/data`, or only the name of an object without a namespace. */
export function keyOf({ namespace, name }: Omit<KindRef, 'kind'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** Returns a text such as `PersistentVolumeClaim default/data`. */
export function textOf(ref: KindRef): string {
  return `${ref.kind} ${keyOf(ref)}`
}

export function byObject(items: readonly PendingItem[]): ClusterFacts['pending'] {
  return groupedBy(items, textOf)
}

export function byUid(events: readonly Event[]): ClusterFacts['events'] {
  return groupedBy(events, ({ involvedObject }) => involvedObject.uid ?? '')
}

/** Groups items like `Map.groupBy`, which Node 20 does not have. */
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

/** Returns the CSI driver of a volume, including a migrated in-tree volume. */
export function driverOf({ metadata, spec }: PersistentVolume): string | undefined {
  return spec?.csi?.driver ?? metadata?.annotations?.['pv.kubernetes.io/migrated-to']
}

/** Returns the names of the claims that a pod uses, including the claims of generic ephemeral volumes. */
export function claimNamesOf({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName]
    return ephemeral === undefined ? [] : [`${metadata?.name}-${name}`]
  })
}

/** Returns the keys `namespace/name` of the claims that a pod uses. */
export function claimKeysOf(pod: Pod): readonly string[] {
  return claimNamesOf(pod).map((name) => keyOf({ namespace: pod.metadata?.namespace, name }))
}

/** Reports whether a pod is starting or being deleted. Only such pods can wait for a volume. */
export function mayWait({ metadata, status }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined || !hasStarted(status)
}

/** Reports whether a pod has its volumes. After a restart of its node, a running pod waits for them again. */
function hasStarted(status: Pod['status']): boolean {
  const { phase = 'Pending', conditions, containerStatuses } = status ?? {}
  if (phase !== 'Running') {
    const isReady = conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
    return phase !== 'Pending' || isReady
  }
  return !containerStatuses?.some(({ state }) => state?.waiting?.reason === 'ContainerCreating')
}

/** Reports whether a pod has not ended, so that it may still use its volumes. */
export function isRunning({ status }: Pod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}
