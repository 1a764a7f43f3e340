import type { SecretRef, UnpublishRequest } from './requests.ts'

/** A publish that this process has sent since it leads, and what takes it back. */
export interface Publication {
  /** The attachment for which it was sent. */
  readonly uid: string
  /** Names the volume as `volumeName` does. */
  readonly volume: string
  readonly nodeName: string
  /** The attachment's version when the publish was sent; undefined if it was attached already. */
  readonly firstAt?: string | undefined
  readonly request: UnpublishRequest
  readonly secret: SecretRef | undefined
  readonly migrated: boolean
}

const NONE: ReadonlySet<Publication> = new Set()

/**
 * What the driver was asked to publish, whatever it answered, until an unpublish has succeeded: a result of which the
 * API says nothing when the attachment has gone in mid-call. Kept for each volume and node id, as the driver counts.
 */
export class PublishedVolumes {
  readonly #publications = new Map<string, Publication>()
  readonly #orphaned = new Map<string, Publication>()
  /** By the attachment's uid; what was sent last comes last. An attachment without any is not listed. */
  readonly #byAttachment = new Map<string, ReadonlySet<Publication>>()
  /** Publications whose volume was gone when they were sent, or whose attachment is for the next one of the name. */
  readonly #outdated = new WeakMap<Publication, 'ended' | 'replaced'>()

  /** The publish is about to be sent. From now on this attachment, and no earlier one, is responsible for it. */
  publishing(publication: Publication): void {
    this.unpublished(publication.request)
    this.#publications.set(keyOf(publication.request), publication)
    this.#byAttachment.set(publication.uid, this.ofAttachment(publication.uid).union(new Set([publication])))
  }

  unpublished(request: UnpublishRequest): void {
    const key = keyOf(request)
    const known = this.#publications.get(key)
    if (known === undefined) return
    this.#publications.delete(key)
    this.#orphaned.delete(key)
    const others = this.ofAttachment(known.uid).difference(new Set([known]))
    if (others.size === 0) this.#byAttachment.delete(known.uid)
    else this.#byAttachment.set(known.uid, others)
  }

  /** What was published for the attachment, in that order. */
  ofAttachment(uid: string): ReadonlySet<Publication> {
    return this.#byAttachment.get(uid) ?? NONE
  }

  /** Its volume was gone when it was sent: the cache was behind. The next volume of the name is another one. */
  markEnded(publication: Publication): void {
    this.#outdated.set(publication, 'ended')
  }

  /** Whether its volume was gone when it was sent, or is replaced. */
  isOutdated(publication: Publication): boolean {
    return this.#outdated.has(publication)
  }

  /** The attachment is for another volume of the name, and has to be published for that one. */
  markReplaced(publication: Publication): void {
    this.#outdated.set(publication, 'replaced')
  }

  /** Whether the attachment still has to be published for the volume of now. */
  hasReplaced(uid: string): boolean {
    return this.ofAttachment(uid)
      .values()
      .some((publication) => this.#outdated.get(publication) === 'replaced')
  }

  /** The attachment is gone, and its publications are orphaned. Returns their keys. */
  attachmentGone(uid: string): readonly string[] {
    return this.#orphan([...this.ofAttachment(uid)])
  }

  /** The attachment is for this volume now: its publications of others are orphaned. Returns their keys. */
  volumeReplaced(uid: string, volume: string): readonly string[] {
    return this.#orphan([...this.ofAttachment(uid)].filter((publication) => publication.volume !== volume))
  }

  #orphan(publications: readonly Publication[]): readonly string[] {
    for (const publication of publications) {
      this.#orphaned.set(keyOf(publication.request), publication)
      this.#outdated.delete(publication)
    }
    return publications.map(({ request }) => keyOf(request))
  }

  /** The publication under the key if it is still orphaned. The key is no name that an attachment can have. */
  orphanedPublication(key: string): Publication | undefined {
    return this.#orphaned.get(key)
  }

  /** The keys of the orphaned publications on a node. */
  orphanedPublicationsOn(nodeName: string): readonly string[] {
    return [...this.#orphaned].flatMap(([key, publication]) => (publication.nodeName === nodeName ? [key] : []))
  }
}

/** No name of an object has a blank. */
function keyOf({ volumeId, nodeId }: UnpublishRequest): string {
  return `${volumeId} on ${nodeId}`
}
