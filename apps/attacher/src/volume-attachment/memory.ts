import type { ListingResult } from '../published-nodes/resync.ts'
import type { UndoneWrite } from '../term/deps.ts'
import type { PublishSecretRef, UnpublishRequest } from '../volumes/call-source.ts'

/** A publish that this process has sent since it leads, and the request that undoes it. */
export interface Publication {
  /** The volume's name in the lanes: `volumeName`. */
  readonly volume: string
  readonly nodeName: string
  readonly request: UnpublishRequest
  readonly secret: PublishSecretRef | undefined
  readonly migrated: boolean
}

/** Facts about one attachment that the API does not hold. */
export interface AttachmentRecord {
  /** The result of the last comparison with the driver's listing. Runs act on it until one of them succeeds. */
  readonly listing: ListingResult | undefined
  /** The status must be written. Without our finalizer, nothing in the API shows that it is outdated. */
  readonly statusPending: boolean
  /** The API server has reported that the attachment is gone, and the cache still holds it. */
  readonly gone: boolean
  /** The lost volume is detached: it is not detached again. */
  readonly lostDetached: boolean
  /** Another writer has set `attached` back to false. */
  readonly statusReverted: UndoneWrite | undefined
  /** Another writer has removed our finalizer from the living attachment. */
  readonly finalizerRemoved: UndoneWrite | undefined
  /** The publishes without a successful unpublish, whatever the driver answered. The last publish comes last. */
  readonly published: readonly Publication[]
}

const EMPTY: AttachmentRecord = {
  listing: undefined,
  statusPending: false,
  gone: false,
  lostDetached: false,
  statusReverted: undefined,
  finalizerRemoved: undefined,
  published: [],
}

type Identity = { readonly uid: string }

/**
 * The facts that the API cannot hold. They are lost with the process and with leadership, without harm.
 * An orphaned publication is a publication whose attachment is gone or names another volume now.
 */
export class AttachmentMemory {
  /** The records by UID: a recreated attachment has a new record. */
  readonly #records = new Map<string, AttachmentRecord>()
  /** The orphaned publications by key. A key contains a blank, so no object has that name. */
  readonly #orphaned = new Map<string, Publication>()

  of({ uid }: Identity): AttachmentRecord {
    return this.#records.get(uid) ?? EMPTY
  }

  note({ uid }: Identity, change: Partial<AttachmentRecord>): void {
    this.#records.set(uid, { ...this.of({ uid }), ...change })
  }

  /** Records a publish before it is sent. From now on the attachment is responsible for the volume on the node. */
  publishing(va: Identity, publication: Publication): void {
    this.unpublished(publication.request, va)
    this.note(va, { published: [...this.of(va).published, publication] })
  }

  /** Records that the driver has unpublished the volume from the node. */
  unpublished(request: UnpublishRequest, va?: Identity): void {
    const key = keyOf(request)
    this.#orphaned.delete(key)
    if (va === undefined) return
    const { published } = this.of(va)
    const others = published.filter((each) => keyOf(each.request) !== key)
    if (others.length < published.length) this.note(va, { published: others })
  }

  /** Orphans the publications of the attachment, except the publications of `volume`. Returns their keys. */
  orphan(va: Identity, volume?: string): readonly string[] {
    const { published } = this.of(va)
    const orphans = published.filter((each) => each.volume !== volume)
    if (orphans.length === 0) return []
    this.note(va, { published: published.filter((each) => each.volume === volume) })
    return orphans.map((publication) => {
      const key = keyOf(publication.request)
      this.#orphaned.set(key, publication)
      return key
    })
  }

  /** Drops the record of an attachment that is gone, and orphans its publications. Returns their keys. */
  forget(va: Identity): readonly string[] {
    const keys = this.orphan(va)
    this.#records.delete(va.uid)
    return keys
  }

  orphanedPublication(key: string): Publication | undefined {
    return this.#orphaned.get(key)
  }

  /** Returns the keys of the orphaned publications on a node. */
  orphanedPublicationsOn(nodeName: string): readonly string[] {
    return [...this.#orphaned].flatMap(([key, publication]) => (publication.nodeName === nodeName ? [key] : []))
  }
}

function keyOf({ volumeId, nodeId }: UnpublishRequest): string {
  return `${volumeId} on ${nodeId}`
}
