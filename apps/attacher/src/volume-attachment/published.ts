import type { SecretRef, UnpublishRequest } from './requests.ts'

/** A publish that this process has sent since it leads, and what takes it back. */
export interface Publication {
  /** The attachment for which it was sent. */
  readonly uid: string
  /** Names the volume as `volumeName` does. */
  readonly volume: string
  readonly nodeName: string
  readonly request: UnpublishRequest
  readonly secret: SecretRef | undefined
  readonly migrated: boolean
}

/**
 * What the driver was asked to publish, whatever it answered, until an unpublish has succeeded: a result of which the
 * API says nothing when the attachment has gone in mid-call. Kept for each volume and node id, as the driver counts.
 */
export class PublishedVolumes {
  readonly #publications = new Map<string, Publication>()
  /** By the attachment's uid; what was sent last stands last. */
  readonly #keys = new Map<string, readonly string[]>()
  readonly #leftBehind = new Set<string>()

  /** The publish is about to be sent. From now on this attachment, and no earlier one, answers for it. */
  publishing(publication: Publication): void {
    this.unpublished(publication.request)
    const key = keyOf(publication.request)
    this.#publications.set(key, publication)
    this.#keys.set(publication.uid, [...(this.#keys.get(publication.uid) ?? []), key])
  }

  unpublished(request: UnpublishRequest): void {
    const key = keyOf(request)
    const known = this.#publications.get(key)
    if (known === undefined) return
    this.#publications.delete(key)
    this.#leftBehind.delete(key)
    const others = (this.#keys.get(known.uid) ?? []).filter((each) => each !== key)
    if (others.length === 0) this.#keys.delete(known.uid)
    else this.#keys.set(known.uid, others)
  }

  /** What was published for the attachment, in that order. */
  ofAttachment(uid: string): readonly Publication[] {
    return (this.#keys.get(uid) ?? []).flatMap((key) => this.#publications.get(key) ?? [])
  }

  /** The attachment is gone, and what was published for it is left behind. Returns the keys under which it is found. */
  attachmentGone(uid: string): readonly string[] {
    const keys = this.#keys.get(uid) ?? []
    for (const key of keys) this.#leftBehind.add(key)
    return keys
  }

  /** What was left behind under the key, if it still is. The key is no name that an attachment can have. */
  leftBehind(key: string): Publication | undefined {
    return this.#leftBehind.has(key) ? this.#publications.get(key) : undefined
  }

  /** The keys of what was left behind on a node. */
  leftBehindOn(nodeName: string): readonly string[] {
    return [...this.#leftBehind].filter((key) => this.#publications.get(key)?.nodeName === nodeName)
  }
}

/** No name of an object has a blank. */
function keyOf({ volumeId, nodeId }: UnpublishRequest): string {
  return `${volumeId} on ${nodeId}`
}
