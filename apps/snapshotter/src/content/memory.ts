import type { Content } from '../caches/content.ts'
import type { Taken } from './kinds.ts'

/** A snapshot that may exist at the driver although its content is gone. */
export interface Orphan {
  /** The last known state of the deleted content. */
  readonly content: Content
  /** Undefined: the driver has not answered the creation yet. */
  handle: string | undefined
  members: readonly string[]
}

/** The handles in the answer of the driver. */
export function answerOf({ handle, members = [] }: Taken): Pick<Orphan, 'handle' | 'members'> {
  return { handle, members: members.map(({ snapshotId }) => snapshotId) }
}

const NO_ANSWER = { handle: undefined, members: [] }

/** The knowledge of this process that the API cannot store. It is lost with the process and with leadership. */
export class ContentMemory {
  /** The keys are the names of the contents. */
  readonly orphans = new Map<string, Orphan>()
  /** Answers that could not be stored, by the UID of the content. They spare another call to the driver. */
  readonly answers = new Map<string, Taken>()
  /** The uids of contents whose orphan was handled before the cache reported the deletion. */
  readonly #handled = new Set<string>()

  /** A write has found the content gone after the driver had answered its creation. */
  foundGone(content: Content, answer: Pick<Orphan, 'handle' | 'members'>): Orphan {
    const orphan = { content, ...answer }
    this.orphans.set(content.key, orphan)
    this.#handled.add(content.uid)
    return orphan
  }

  /** The driver has no snapshot of the content: its creation has failed for sure, or its deletion has succeeded. */
  noSnapshotOf({ key, uid }: Content): void {
    this.orphans.delete(key)
    this.#handled.add(uid)
  }

  /**
   * The cache reports that the content is gone. `due` is the deletion that it was waiting for. Returns whether the driver
   * may still have its snapshot.
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
    if (!beingCreated || policy !== 'Delete' || status?.handle !== undefined) return false
    this.orphans.set(key, { content, ...(answer === undefined ? NO_ANSWER : answerOf(answer)) })
    return true
  }
}
