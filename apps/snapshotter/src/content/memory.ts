import type { Content } from '../caches/content.ts'
import type { SecretWatch } from './secret-watch.ts'

/** A snapshot that may exist at the driver although its content was deleted during the creation. */
export interface Orphan {
  /** The last known state of the deleted content. */
  readonly content: Content
  /** Undefined: the driver has not answered the creation yet. */
  handle: string | undefined
  members: readonly string[]
}

/** What this process knows and the API cannot store. Lost with the process and with leadership. */
export class ContentMemory {
  readonly secrets: SecretWatch
  /** By the name of the content. */
  readonly orphans = new Map<string, Orphan>()
  /** The uids of contents whose orphan was handled before the cache reported the deletion. */
  readonly #handled = new Set<string>()

  constructor(secrets: SecretWatch) {
    this.secrets = secrets
  }

  /** A write has found the content gone after the driver had answered its creation. */
  foundGone(content: Content, answer: Pick<Orphan, 'handle' | 'members'>): Orphan {
    const orphan = { content, ...answer }
    this.orphans.set(content.key, orphan)
    this.#handled.add(content.uid)
    return orphan
  }

  /** The creation of a content that is gone has failed for sure. */
  noSnapshotOf({ key, uid }: Content): void {
    this.orphans.delete(key)
    this.#handled.add(uid)
  }

  /** The cache reports that the content is gone. Returns whether its creation may have left a snapshot. */
  deleted(content: Content): boolean {
    this.secrets.forget(content.key)
    if (this.#handled.delete(content.uid)) return this.orphans.has(content.key)
    if (!content.beingCreated || content.policy !== 'Delete' || content.status?.handle !== undefined) return false
    this.orphans.set(content.key, { content, handle: undefined, members: [] })
    return true
  }
}
