import { Quantity } from '@csi-sidecars/kube-types'
import { csiVolumeOf } from '@csi-sidecars/volume-controllers'

/** One observation, which the monitor gets at the moment at which it happens. */
export type Sighting =
  /** A ControllerPublishVolume has begun. `present` lists the nodes to which the volume is published at that moment. */
  | (OnNode & { readonly kind: 'publishing'; readonly present: readonly string[]; readonly shared: boolean })
  | (OnNode & { readonly kind: 'unpublishing'; readonly mountedAt: readonly string[] })
  | {
      readonly kind: 'node'
      readonly node: string
      readonly volumesInUse: readonly string[]
      readonly volumesAttached: readonly string[]
    }
  /** The deletion of a VolumeAttachment was requested. */
  | (OnNode & { readonly kind: 'attachmentDeleted'; readonly name: string })
  | { readonly kind: 'snapshotting'; readonly snapshot: string; readonly source: string }
  /** A DeleteSnapshot has begun, though the VolumeSnapshotContent of the snapshot is not being deleted. */
  | { readonly kind: 'snapshotDeleting'; readonly id: string; readonly content: string }
  /** The size of a claim in the API, or of a volume in the driver. */
  | { readonly kind: 'size'; readonly of: string; readonly size: string }

interface OnNode {
  readonly volumeId: string
  readonly nodeId: string
}

type Seen<Kind extends Sighting['kind']> = Extract<Sighting, { readonly kind: Kind }>

interface NodeRecord {
  /** The number of the observation at which the volume last entered `volumesInUse` of the node status. */
  readonly inUseSince: Map<string, number>
  /** The number of the observation at which the volume left `volumesAttached`. Infinity while the volume is listed. */
  readonly attachedUntil: Map<string, number>
}

/** Checks the rules that the cluster must keep despite all faults. Its input is the driver and the API only. */
export class Monitor {
  readonly violations: string[] = []
  readonly #nodes = new Map<string, NodeRecord>()
  readonly #sizes = new Map<string, string>()
  /** The source volume of each snapshot, by requested name. */
  readonly #sources = new Map<string, string>()
  #count = 0

  see(sighting: Sighting): void {
    this.#count += 1
    switch (sighting.kind) {
      case 'publishing':
        return this.#onPublishing(sighting)
      case 'unpublishing':
        return this.#onUnpublishing(sighting)
      case 'node':
        return this.#onNode(sighting)
      case 'attachmentDeleted':
        return this.#onDeleted(sighting)
      case 'snapshotting':
        return this.#onSnapshotting(sighting)
      case 'snapshotDeleting':
        return void this.violations.push(`snapshot ${sighting.id} was to be deleted while ${sighting.content} is kept`)
      case 'size':
        return this.#onSize(sighting)
    }
  }

  #onPublishing({ volumeId, nodeId, present, shared }: Seen<'publishing'>): void {
    const others = present.filter((node) => node !== nodeId)
    if (!shared && others.length > 0) {
      this.violations.push(`volume ${volumeId} was to be published to ${nodeId} while it is on ${others.join(', ')}`)
    }
  }

  #onUnpublishing({ volumeId, nodeId, mountedAt }: Seen<'unpublishing'>): void {
    if (mountedAt.length > 0) {
      this.violations.push(
        `volume ${volumeId} was unpublished from ${nodeId} while it is mounted at ${mountedAt.join(', ')}`,
      )
    }
  }

  #onNode({ node, volumesInUse, volumesAttached }: Seen<'node'>): void {
    const record = this.#node(node)
    for (const name of record.inUseSince.keys()) if (!volumesInUse.includes(name)) record.inUseSince.delete(name)
    for (const name of volumesInUse) if (!record.inUseSince.has(name)) record.inUseSince.set(name, this.#count)
    for (const name of volumesAttached) record.attachedUntil.set(name, Number.POSITIVE_INFINITY)
    for (const [name, until] of record.attachedUntil) {
      if (until === Number.POSITIVE_INFINITY && !volumesAttached.includes(name))
        record.attachedUntil.set(name, this.#count)
    }
  }

  /**
   * An attachment must not be deleted while the node uses the volume, if this use began before the volume left
   * `volumesAttached`. A use that begins later is harmless, because the kubelet finds the volume not attached.
   */
  #onDeleted({ volumeId, nodeId, name }: OnNode & { readonly name: string }): void {
    const record = this.#node(nodeId)
    for (const [volumeName, since] of record.inUseSince) {
      if (csiVolumeOf(volumeName)?.volumeHandle !== volumeId) continue
      const until = record.attachedUntil.get(volumeName) ?? 0
      if (since < until)
        this.violations.push(`${name} was deleted while ${nodeId} says that it uses volume ${volumeId}`)
    }
  }

  #onSnapshotting({ snapshot, source }: Seen<'snapshotting'>): void {
    const before = this.#sources.get(snapshot) ?? source
    this.#sources.set(snapshot, before)
    if (before !== source) this.violations.push(`${snapshot} was to be taken of volume ${source}, first of ${before}`)
  }

  #onSize({ of, size }: Seen<'size'>): void {
    const before = this.#sizes.get(of)
    if (before !== undefined && Quantity.parse(size).compare(Quantity.parse(before)) < 0) {
      this.violations.push(`${of} shrank from ${before} to ${size}`)
    }
    this.#sizes.set(of, size)
  }

  #node(name: string): NodeRecord {
    const record = this.#nodes.get(name) ?? { inUseSince: new Map(), attachedUntil: new Map() }
    this.#nodes.set(name, record)
    return record
  }
}
