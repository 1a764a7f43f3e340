import { Quantity } from '@csi-sidecars/kube-types'
import { csiVolumeOf } from '../volume-names.ts'

/** A call of the attacher's has reached the driver. `present`: where the volume is by then. */
export interface Publishing {
  readonly is: 'publishing'
  readonly volumeId: string
  readonly nodeId: string
  readonly present: readonly string[]
  readonly shared: boolean
}

export interface Unpublishing {
  readonly is: 'unpublishing'
  readonly volumeId: string
  readonly nodeId: string
  readonly mountedAt: readonly string[]
}

/** Such a call has ended well. */
export interface CallEnded {
  readonly is: 'published' | 'unpublished'
  readonly volumeId: string
  readonly nodeId: string
}

export interface NodeChanged {
  readonly is: 'node'
  readonly node: string
  readonly volumesInUse: readonly string[]
  readonly volumesAttached: readonly string[]
}

/** An attachment is there, its deletion was asked for, or it is gone. */
export interface AttachmentChanged {
  readonly is: 'attachmentCreated' | 'attachmentDeleted' | 'attachmentGone'
  readonly name: string
  readonly node: string
  readonly volumeId: string
}

/** A size as the API, or the driver, has it. */
export interface SizeSeen {
  readonly is: 'size'
  readonly of: string
  readonly size: string
}

/** What the monitor sees, in the order in which it happened. */
export type Sighting = Publishing | Unpublishing | CallEnded | NodeChanged | AttachmentChanged | SizeSeen

interface NodeRecord {
  /** When the volume was first in an unbroken row of reports, by the number of the sighting. */
  readonly inUseSince: Map<string, number>
  /** When the status last said that the volume is attached. */
  readonly attachedUntil: Map<string, number>
}

/**
 * What must hold whatever happens. It looks at the driver and at the API only, so it believes no controller.
 * With `exactly` nothing but controllers is disturbed, and then nothing may be done twice either.
 */
export class Monitor {
  readonly violations: string[] = []
  readonly #exactly: boolean
  readonly #nodes = new Map<string, NodeRecord>()
  readonly #sizes = new Map<string, string>()
  /** Ended calls for each living attachment: volume and node. */
  readonly #published = new Map<string, number>()
  readonly #unpublished = new Map<string, number>()
  #count = 0

  constructor(options: { readonly exactly: boolean }) {
    this.#exactly = options.exactly
  }

  see(sighting: Sighting): void {
    this.#count += 1
    switch (sighting.is) {
      case 'publishing':
        return this.#onPublishing(sighting)
      case 'unpublishing':
        return this.#onUnpublishing(sighting)
      case 'published':
        return this.#once(this.#published, sighting)
      case 'unpublished':
        return this.#once(this.#unpublished, sighting)
      case 'node':
        return this.#onNode(sighting)
      case 'attachmentCreated':
        return this.#begin(sighting)
      case 'attachmentDeleted':
        return this.#onDeleted(sighting)
      case 'attachmentGone':
        return this.#begin(sighting)
      case 'size':
        return this.#onSize(sighting)
    }
  }

  #violated(text: string): void {
    this.violations.push(text)
  }

  #onPublishing({ volumeId, nodeId, present, shared }: Publishing): void {
    const others = present.filter((node) => node !== nodeId)
    if (!shared && others.length > 0) {
      this.#violated(`volume ${volumeId} was to be published to ${nodeId} while it is on ${others.join(', ')}`)
    }
  }

  #onUnpublishing({ volumeId, nodeId, mountedAt }: Unpublishing): void {
    if (mountedAt.length > 0) {
      this.#violated(`volume ${volumeId} was unpublished from ${nodeId} while it is mounted at ${mountedAt.join(', ')}`)
    }
  }

  #once(calls: Map<string, number>, { is, volumeId, nodeId }: CallEnded): void {
    const key = `${volumeId} ${nodeId}`
    const times = (calls.get(key) ?? 0) + 1
    calls.set(key, times)
    if (this.#exactly && times > 1)
      this.#violated(`volume ${volumeId} was ${is} ${times} times on ${nodeId} for one attachment`)
  }

  /** A new attachment may be published once more. */
  #begin({ volumeId, node }: AttachmentChanged): void {
    this.#published.delete(`${volumeId} ${node}`)
    this.#unpublished.delete(`${volumeId} ${node}`)
  }

  #onNode({ node, volumesInUse, volumesAttached }: NodeChanged): void {
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
   * The status must have ceased to call the volume attached, and have been found not to call it in use after that. A
   * kubelet that says so only later will look, and not find it attached.
   */
  #onDeleted({ volumeId, node, name }: AttachmentChanged): void {
    const record = this.#node(node)
    for (const [volumeName, since] of record.inUseSince) {
      if (csiVolumeOf(volumeName)?.volumeHandle !== volumeId) continue
      const until = record.attachedUntil.get(volumeName) ?? 0
      if (since < until) this.#violated(`${name} was deleted while ${node} says that it uses volume ${volumeId}`)
    }
  }

  #onSize({ of, size }: SizeSeen): void {
    const before = this.#sizes.get(of)
    if (before !== undefined && Quantity.parse(size).compare(Quantity.parse(before)) < 0) {
      this.#violated(`${of} shrank from ${before} to ${size}`)
    }
    this.#sizes.set(of, size)
  }

  #node(name: string): NodeRecord {
    const record = this.#nodes.get(name) ?? { inUseSince: new Map(), attachedUntil: new Map() }
    this.#nodes.set(name, record)
    return record
  }
}
