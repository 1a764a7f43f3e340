import {
  CSI_DRIVERS,
  CSI_NODES,
  type CSIDriver,
  type CSINode,
  type Event,
  type Lease,
  NODES,
  type Node,
  type ObjectRef,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type Resource,
  STORAGE_CLASSES,
  type StorageClass,
  VOLUME_ATTACHMENTS,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
  type VolumeAttachment,
  type VolumeAttributesClass,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import {
  byObject,
  byUid,
  type ClusterFacts,
  driverOf,
  KnownObjects,
  keyOf,
  type Named,
  objectOf,
  type ReadResult,
  refOf,
} from './facts.ts'
import { isOfSidecar } from './leases.ts'
import type { PendingItem } from './pending.ts'
import type { ApiReader } from './reader.ts'

/** The objects that a command has read. Each object is read only once. */
export class FactCollection {
  readonly reader: ApiReader
  readonly pods = new Map<string, Pod>()
  readonly claims = new KnownObjects<PersistentVolumeClaim>()
  readonly volumes = new KnownObjects<PersistentVolume>()
  readonly attachments = new Map<string, VolumeAttachment>()
  /** All attachments of nodes with a volume limit. They are used only to count the volumes of a node. */
  readonly neighbours = new Map<string, VolumeAttachment>()
  readonly csiNodes = new KnownObjects<CSINode>()
  readonly nodes = new KnownObjects<Node>()
  readonly drivers = new KnownObjects<CSIDriver>()
  readonly storageClasses = new KnownObjects<StorageClass>()
  readonly attributesClasses = new KnownObjects<VolumeAttributesClass>()
  readonly snapshots = new KnownObjects<VolumeSnapshot>()
  readonly contents = new KnownObjects<VolumeSnapshotContent>()
  readonly snapshotClasses = new KnownObjects<VolumeSnapshotClass>()
  readonly events: Event[] = []
  readonly pending: PendingItem[] = []
  readonly missingPermissions = new Map<string, readonly string[]>()
  readonly sidecarPods = new Map<string, readonly Pod[]>()
  readonly holdersGone = new Set<string>()
  leases: readonly Lease[] | undefined = []

  constructor(reader: ApiReader) {
    this.reader = reader
  }

  /** Returns the Leases of sidecars among the Leases that were read. */
  get sidecarLeases(): readonly Lease[] {
    const drivers = [
      ...this.drivers.present.map(({ metadata }) => metadata?.name ?? ''),
      ...this.storageClasses.present.map(({ provisioner }) => provisioner),
    ]
    return (this.leases ?? []).filter((lease) => isOfSidecar(lease, drivers))
  }

  claim(ref: ObjectRef): Promise<ReadResult<PersistentVolumeClaim>> {
    return this.#once(this.claims, PERSISTENT_VOLUME_CLAIMS, ref)
  }

  volume(name: string): Promise<ReadResult<PersistentVolume>> {
    return this.#once(this.volumes, PERSISTENT_VOLUMES, { name })
  }

  snapshot(ref: ObjectRef): Promise<ReadResult<VolumeSnapshot>> {
    return this.#once(this.snapshots, VOLUME_SNAPSHOTS, ref)
  }

  content(name: string): Promise<ReadResult<VolumeSnapshotContent>> {
    return this.#once(this.contents, VOLUME_SNAPSHOT_CONTENTS, { name })
  }

  /** Reads a snapshot class. Without a name, reads all classes, because one of them may be the default. */
  async snapshotClass(name: string | undefined): Promise<void> {
    if (name === undefined) await this.all(this.snapshotClasses, VOLUME_SNAPSHOT_CLASSES)
    else await this.#once(this.snapshotClasses, VOLUME_SNAPSHOT_CLASSES, { name })
  }

  /** Reads the claims of a namespace for which `where` is true. */
  async claimsWhere(namespace: string | undefined, where: (claim: PersistentVolumeClaim) => boolean): Promise<void> {
    for (const object of (await this.reader.list(PERSISTENT_VOLUME_CLAIMS, { namespace, where })) ?? []) {
      this.claims.set(keyOf({ namespace, name: object.metadata?.name ?? '' }), { kind: 'present', object })
    }
  }

  /** Lists all attachments page by page, and keeps those for which `where` is true. */
  async attachmentsWhere(where: (va: VolumeAttachment) => boolean): Promise<void> {
    for (const va of (await this.reader.list(VOLUME_ATTACHMENTS, { where })) ?? []) this.addAttachment(va)
  }

  /** Reads all attachments of these nodes. The command only counts them. */
  async neighboursOn(nodes: ReadonlySet<string>): Promise<void> {
    const where = ({ spec }: VolumeAttachment): boolean => nodes.has(spec?.nodeName ?? '')
    for (const va of (await this.reader.list(VOLUME_ATTACHMENTS, { where })) ?? []) {
      this.neighbours.set(va.metadata?.name ?? '', va)
    }
  }

  addAttachment(va: VolumeAttachment): void {
    this.attachments.set(va.metadata?.name ?? '', va)
  }

  addPod(pod: Pod): void {
    const { namespace, name = '' } = pod.metadata ?? {}
    this.pods.set(keyOf({ namespace, name }), pod)
  }

  /** Reads the objects that an attachment depends on. */
  async surroundingsOf({ spec }: VolumeAttachment): Promise<void> {
    const { attacher = '', nodeName = '', source } = spec ?? {}
    await Promise.all([
      source?.persistentVolumeName === undefined ? undefined : this.volume(source.persistentVolumeName),
      this.#once(this.csiNodes, CSI_NODES, { name: nodeName }),
      this.#once(this.nodes, NODES, { name: nodeName }),
      this.#once(this.drivers, CSI_DRIVERS, { name: attacher }),
    ])
  }

  /** Reads the objects that a claim depends on, including its volume. */
  async surroundingsOfClaim({ spec, status }: PersistentVolumeClaim): Promise<void> {
    const { volumeName = '', storageClassName = '', volumeAttributesClassName = '' } = spec ?? {}
    const target = status?.modifyVolumeStatus?.targetVolumeAttributesClassName ?? ''
    await Promise.all([
      ...[volumeAttributesClassName, target].map((name) =>
        this.#named(this.attributesClasses, VOLUME_ATTRIBUTES_CLASSES, name),
      ),
      // A claim without a class uses the default class, which only a list of all classes shows.
      spec?.storageClassName === undefined ? this.all(this.storageClasses, STORAGE_CLASSES) : undefined,
      this.#named(this.storageClasses, STORAGE_CLASSES, storageClassName),
      this.#volumeAndDriver(volumeName),
    ])
  }

  /** Reads all objects of a kind, unless they were listed before. */
  async all<T extends Named>(objects: KnownObjects<T>, resource: Resource<T>): Promise<void> {
    if (objects.complete) return
    const listed = await this.reader.list(resource, { notUnderstood: (name) => objects.set(name, { kind: 'unseen' }) })
    for (const object of listed ?? []) objects.set(keyOf(refOf('', object)), { kind: 'present', object })
    objects.complete = listed !== undefined
  }

  csiNode(name: string): Promise<ReadResult<CSINode>> {
    return this.#once(this.csiNodes, CSI_NODES, { name })
  }

  node(name: string): Promise<ReadResult<Node>> {
    return this.#once(this.nodes, NODES, { name })
  }

  /** Reads a node. If the Node is missing, reads its CSINode, because a node is gone only if both are missing. */
  async nodeIfThere(name: string): Promise<void> {
    if ((await this.node(name)).kind === 'absent') await this.csiNode(name)
  }

  facts(now: number, stuckAfterMs: number): ClusterFacts {
    const { reader, pods, attachments, neighbours, events, pending, ...collected }: FactCollection = this
    return {
      ...collected,
      now,
      stuckAfterMs,
      pods: [...pods.values()],
      attachments: [...attachments.values()],
      neighbours: [...new Map([...neighbours, ...attachments]).values()],
      events: byUid(events),
      pending: byObject(pending),
      unseen: reader.unseen,
    }
  }

  async #volumeAndDriver(name: string): Promise<void> {
    if (name === '') return
    const pv = objectOf(await this.volume(name))
    await this.#named(this.drivers, CSI_DRIVERS, (pv && driverOf(pv)) ?? '')
  }

  async #named<T>(table: KnownObjects<T>, resource: Resource<T>, name: string): Promise<void> {
    if (name !== '') await this.#once(table, resource, { name })
  }

  async #once<T>(table: KnownObjects<T>, resource: Resource<T>, ref: ObjectRef): Promise<ReadResult<T>> {
    const key = keyOf(ref)
    if (table.has(key)) return table.get(key)
    const seen = await this.reader.get(resource, ref)
    table.set(key, seen)
    return seen
  }
}
