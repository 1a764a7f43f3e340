import type { Content } from '../caches/content.ts'
import type { Taken } from './kinds.ts'

/** A snapshot that may exist at the driver although its VolumeSnapshotContent is gone. */
export interface Orphan {
  /** The last known state of the deleted content. */
  readonly content: Content
  /** The handle of the snapshot. Undefined until the driver has answered the creation. */
  handle: string | undefined
  members: readonly string[]
}

export function answerOf({ handle, members = [] }: Taken): Pick<Orphan, 'handle' | 'members'> {
  return { handle, members: members.map(({ snapshotId }) => snapshotId) }
}

/** Facts about snapshots that only this process remembers. They are lost when it ends or stops leading. */
export class ContentMemory {
  /** The snapshots that may be left over, by the names of their deleted VolumeSnapshotContents. */
  readonly orphans = new Map<string, Orphan>()
  /** Answers of the driver that are not stored in the status yet, by content UID. They save repeated calls. */
  readonly answers = new Map<string, Taken>()
  /** UIDs of contents without a snapshot to delete, until the cache reports the deletion of the content. */
  readonly #handled = new Set<string>()

  /** Called when the driver has created the snapshot, but the content is gone when its status is written. */
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

  isHandled(uid: string): boolean {
    return this.#handled.has(uid)
  }

  /**
   * Called when the content leaves the cache. If DeleteSnapshot must still be called, `due` contains the handles.
   * Returns whether the driver may still have the snapshot.
   */
  deleted(
    content: Content,
    {
      due,
      isCreatedHere,
    }: { readonly due: Pick<Orphan, 'handle' | 'members'> | undefined; readonly isCreatedHere: boolean },
  ): boolean {
    const { key, uid, beingCreated, policy, status } = content
    const answer = this.answers.get(uid)
    this.answers.delete(uid)
    if (this.#handled.delete(uid)) return this.orphans.has(key)
    if (due !== undefined) {
      this.orphans.set(key, { content, ...due })
      return true
    }
    // A snapshot whose handle is stored is kept, unless the user has asked to delete it.
    const isKept = status?.handle !== undefined && !(content.beingDeleted && content.deletedSeconds !== undefined)
    if (!isCreatedHere || !beingCreated || policy !== 'Delete' || isKept) return this.orphans.has(key)
    const stored = { handle: status?.handle, members: status?.members ?? [] }
    this.orphans.set(key, { content, ...(answer === undefined ? stored : answerOf(answer)) })
    return true
  }
}
