import type { SecretRef } from '@csi-sidecars/sidecar'
import type { ListingResult } from '../published-nodes/resync.ts'
import type { UndoneWrite } from '../term/undone-write.ts'
import type { UnpublishRequest } from '../volumes/call-source.ts'

/** A publish that this process has sent as the leader, and the unpublish request that undoes it. */
export interface Publication {
  /** The name of the volume in the groups of the queue, from `volumeIdentityName`. */
  readonly volume: string
  readonly nodeName: string
  readonly request: UnpublishRequest
  readonly secret: SecretRef | undefined
  readonly migrated: boolean
}

/** Facts about one attachment that the API does not hold. */
export interface AttachmentRecord {
  /** The last comparison with the driver's listing. Runs act on it until one succeeds. */
  readonly listing: ListingResult | undefined
  /** True if the status must still be written, which no API object shows. */
  readonly mustWriteStatus: boolean
  /** True if the API server reports the attachment as gone before the cache does. */
  readonly isGone: boolean
  /** True if a volume without a PersistentVolume was detached. No run repeats it. */
  readonly isLostVolumeDetached: boolean
  /** Set if another writer has set `attached` back to false. */
  readonly statusReverted: UndoneWrite | undefined
  /** Set if another writer has removed our finalizer from a living attachment. */
  readonly finalizerRemoved: UndoneWrite | undefined
  /** The publishes without a later successful unpublish, in their order. Failed publishes are included. */
  readonly publications: readonly Publication[]
}

const EMPTY: AttachmentRecord = {
  listing: undefined,
  mustWriteStatus: false,
  isGone: false,
  isLostVolumeDetached: false,
  statusReverted: undefined,
  finalizerRemoved: undefined,
  publications: [],
}

type Identity = { readonly uid: string }

/**
 * Facts about attachments that the API does not hold. A new process or leader can do without them.
 * An orphaned publication is a published volume whose attachment is gone or now names another volume.
 */
export class AttachmentMemory {
  /** The records by UID: a recreated attachment has a new record. */
  readonly #records = new Map<string, AttachmentRecord>()
  /** The orphaned publications by key. Each key contains a blank, so it never equals the name of an attachment. */
  readonly #orphaned = new Map<string, Publication>()

  recordOf({ uid }: Identity): AttachmentRecord {
    return this.#records.get(uid) ?? EMPTY
  }

  update({ uid }: Identity, change: Partial<AttachmentRecord>): void {
    this.#records.set(uid, { ...this.recordOf({ uid }), ...change })
  }

  /** Records a publish before it is sent. From now on the attachment is responsible for the volume on the node. */
  recordPublish(va: Identity, publication: Publication): void {
    this.recordUnpublish(publication.request, va)
    this.update(va, { publications: [...this.recordOf(va).publications, publication] })
  }

  /** Records that the driver has unpublished the volume from the node. */
  recordUnpublish(request: UnpublishRequest, va?: Identity): void {
    const key = keyOf(request)
    this.#orphaned.delete(key)
    if (va === undefined) return
    const { publications } = this.recordOf(va)
    const others = publications.filter((each) => keyOf(each.request) !== key)
    if (others.length < publications.length) this.update(va, { publications: others })
  }

  /** Orphans the attachment's publications, except of `volume`. Returns the keys to enqueue. */
  orphanPublications(va: Identity, volume?: string): readonly string[] {
    const { publications: published } = this.recordOf(va)
    const orphans = published.filter((each) => each.volume !== volume)
    if (orphans.length === 0) return []
    this.update(va, { publications: published.filter((each) => each.volume === volume) })
    return orphans.map((publication) => {
      const key = keyOf(publication.request)
      this.#orphaned.set(key, publication)
      return key
    })
  }

  /** Drops a deleted attachment and orphans its publications. Returns the keys to enqueue. */
  forget(va: Identity): readonly string[] {
    const keys = this.orphanPublications(va)
    this.#records.delete(va.uid)
    return keys
  }

  orphanedPublication(key: string): Publication | undefined {
    return this.#orphaned.get(key)
  }

  orphanedPublicationsOn(nodeName: string): readonly string[] {
    return [...this.#orphaned].flatMap(([key, publication]) => (publication.nodeName === nodeName ? [key] : []))
  }
}

function keyOf({ volumeId, nodeId }: UnpublishRequest): string {
  return `${volumeId} on ${nodeId}`
}
