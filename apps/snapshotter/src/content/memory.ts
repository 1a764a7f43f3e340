import type { Content } from '../caches/content.ts'
import type { Taken } from './kinds.ts'

/** A snapshot that may exist at the driver although its content is gone. */
export interface Orphan {
  /** The last known state of the deleted content. */
  readonly content: Content
  /** The handle of the snapshot. Undefined until the driver has answered the creation. */
  handle: string | undefined
  members: readonly string[]
}

/** Returns the handles in the driver's answer. */
export function answerOf({ handle, members = [] }: Taken): Pick<Orphan, 'handle' | 'members'> {
  return { handle, members: members.map(({ snapshotId }) => snapshotId) }
}

const NO_ANSWER = { handle: undefined, members: [] }

/** Facts about snapshots that only this process remembers. They are lost when it ends or stops leading. */
export class ContentMemory {
  /** The snapshots that may be left over, by the names of their deleted contents. */
  readonly orphans = new Map<string, Orphan>()
  /** Driver answers whose status write failed, by the UID of the content. They save another call to the driver. */
  readonly answers = new Map<string, Taken>()
  /** The UIDs of contents whose snapshot was handled before the cache reported that the content is gone. */
  readonly #handled = new Set<string>()

  /** Called when a write finds that the content is gone after the driver has created its snapshot. */
  foundGone(content: Content, answer: Pick<Orphan, 'handle' | 'members'>): Orphan {
    const orphan = { content, ...answer }
    this.orphans.set(content.key, orphan)
    this.#handled.add(content.uid)
    return orphan
  }

  /** Called when the driver has no snapshot of the content, after a final failure or a deletion. */
  noSnapshotOf({ key, uid }: Content): void {
    this.orphans.delete(key)
    this.#handled.add(uid)
  }

  /**
   * Called when the cache reports that the content is gone. `due` is its pending deletion step. Returns whether the
   * driver may still have its snapshot.
   */
  deleted(content: Content, due?: Pick<Orphan, 'handle' | 'members'>): boolean {
    const { key, uid, beingCreated, policy, status } = content
    const answer = this.answers.get(uid)
    this.answers.delete(uid)
    if (this.#handled.delete(uid)) return this.orphans.has(key)
    if (due !== undefined) {
      this.orphans.set(key, { content, handle: due.handle, members: due.members })
      return true
    }
    // If the user has not asked for the deletion, a snapshot whose handle is stored is kept.
    const isKept = status?.handle !== undefined && !(content.beingDeleted && content.deletedSeconds !== undefined)
    if (!beingCreated || policy !== 'Delete' || isKept) return this.orphans.has(key)
    const { handle, members = [] } = status ?? {}
    const known = handle === undefined ? NO_ANSWER : { handle, members }
    this.orphans.set(key, { content, ...(answer === undefined ? known : answerOf(answer)) })
    return true
  }
}
