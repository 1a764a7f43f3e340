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
  readonly #orphans = new Map<string, readonly Orphan[]>()
  /** Answers of the driver that are not stored in the status yet, by content UID. They save repeated calls. */
  readonly answers = new Map<string, Taken>()
  /** UIDs of contents without a snapshot to delete, until the cache reports the deletion of the content. */
  readonly #handled = new Set<string>()

  /** Called when the driver has created the snapshot, but the content is gone when its status is written. */
  foundGone(content: Content, answer: Pick<Orphan, 'handle' | 'members'>): Orphan {
    this.#handled.add(content.uid)
    return this.#keep({ content, ...answer })
  }

  /** Called when the driver has no snapshot of the content, after a final failure or a deletion. */
  noSnapshotOf(content: Content): void {
    this.forget(content.key, content.uid)
    this.#handled.add(content.uid)
  }

  /** Returns an orphan for each deleted content of this name whose snapshot may be left over. */
  orphansOf(key: string): readonly Orphan[] {
    return this.#orphans.get(key) ?? []
  }

  /** Forgets the orphan of the content with this UID. Without a UID, forgets all orphans of the name. */
  forget(key: string, uid?: string): void {
    const left = uid === undefined ? [] : this.orphansOf(key).filter(({ content }) => content.uid !== uid)
    if (left.length === 0) this.#orphans.delete(key)
    else this.#orphans.set(key, left)
  }

  #keep(orphan: Orphan): Orphan {
    const { key, uid } = orphan.content
    this.forget(key, uid)
    this.#orphans.set(key, [...this.orphansOf(key), orphan])
    return orphan
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
    if (this.#handled.delete(uid)) return this.orphansOf(key).length > 0
    if (due !== undefined) {
      this.#keep({ content, ...due })
      return true
    }
    // A snapshot whose handle is stored is kept, unless the user has asked to delete it.
    const isKept = status?.handle !== undefined && !(content.beingDeleted && content.deletedSeconds !== undefined)
    if (!isCreatedHere || !beingCreated || policy !== 'Delete' || isKept) return this.orphansOf(key).length > 0
    const stored = { handle: status?.handle, members: status?.members ?? [] }
    this.#keep({ content, ...(answer === undefined ? stored : answerOf(answer)) })
    return true
  }
}
