import type { Clock } from '@csi-sidecars/base'
import { EventDeduplicator } from '@csi-sidecars/controller'
import type { Content } from '../caches/content.ts'
import type { CreateRequest, DriverSnapshot } from './kinds.ts'

/** A creation of this process whose snapshot is not ready yet. */
export interface SnapshotCreation {
  /** The request of the first call. Repeated calls are equal, except for their Secret. */
  readonly request: CreateRequest
  /** The answer of the driver until it is in the status. Undefined while the outcome of the call is unknown. */
  answer: DriverSnapshot | undefined
  /** True if the policy was not `Delete` at some time since the first call. */
  wasRetained: boolean
}

/** A content that has left the cache although the driver may have its snapshot. */
export interface LostContent {
  readonly content: Content
  /** True if a watch event has reported `content` as the last stored state. */
  readonly isLastStoredState: boolean
  /** The creation of this process that was not finished. Undefined if there was none. */
  readonly creation: SnapshotCreation | undefined
}

/** Returns the handle of the snapshot. Undefined if only the driver knows it. */
export function lostHandleOf({ content, creation }: LostContent): string | undefined {
  return creation?.answer?.handle ?? content.status?.handle ?? content.preProvisioned?.handle
}

/** The age at which uncertain calls are forgotten, in milliseconds. It is longer than any `--timeout` in use. */
const MAX_AGE_MS = 3_600_000

/** Facts about snapshots that only this process remembers. They are lost when it ends or stops leading. */
export class ContentMemory {
  /** The unfinished creations, by the UIDs of their contents. */
  readonly #creations = new Map<string, SnapshotCreation>()
  /** The contents that left the cache and were not handled yet, by name. */
  readonly #lost = new Map<string, readonly LostContent[]>()
  /** Contents without a snapshot to delete, by UID, until they leave the cache. */
  readonly #finished = new Map<string, 'deleted' | 'keepForOther'>()
  /** The end of the last uncertain DeleteSnapshot call, in monotonic milliseconds, by the UID of the VolumeSnapshot. */
  readonly #uncertainDeletions = new Map<string, number>()
  /** The events about failed deletions, by the UID of the content. */
  readonly #deletionEvents: EventDeduplicator

  constructor(clock: Clock) {
    this.#deletionEvents = new EventDeduplicator({ clock })
  }

  /** Reports whether to record this event about a failed deletion. Remembers it. */
  shouldRecordDeletion(uid: string, message: string): boolean {
    return this.#deletionEvents.shouldRecord(uid, message)
  }

  creationOf(uid: string): SnapshotCreation | undefined {
    return this.#creations.get(uid)
  }

  /** Called before the call that creates the snapshot. Keeps the first request. */
  beginCreation(content: Content, request: CreateRequest): SnapshotCreation {
    const creation = this.#creations.get(content.uid) ?? { request, answer: undefined, wasRetained: false }
    this.#creations.set(content.uid, creation)
    this.recordState(content)
    return creation
  }

  /** Called when the answer of the driver is in the status of the content. */
  recordStoredAnswer(content: Content, isReady: boolean): void {
    const creation = this.#creations.get(content.uid)
    if (creation !== undefined) creation.answer = undefined
    if (isReady) this.endCreation(content)
  }

  /** Called when the snapshot is ready, or after a final failure. */
  endCreation({ key, uid }: Content): void {
    this.#creations.delete(uid)
    this.forgetLost(key, (lost) => lost.content.uid === uid)
  }

  /** Called with each state of a content. */
  recordState({ uid, policy }: Content): void {
    const creation = this.#creations.get(uid)
    if (creation !== undefined && policy !== 'Delete') creation.wasRetained = true
  }

  /** Called after DeleteSnapshot has succeeded. */
  recordSnapshotDeletion({ uid }: Content): void {
    this.#finished.set(uid, 'deleted')
  }

  /** Called when another content keeps the snapshot of a deleted content. */
  recordKeptForOther({ uid }: Content): void {
    this.#finished.set(uid, 'keepForOther')
  }

  driverHasDeleted(uid: string): boolean {
    return this.#finished.get(uid) === 'deleted'
  }

  isKeptForOther(uid: string): boolean {
    return this.#finished.get(uid) === 'keepForOther'
  }

  /** Called when a DeleteSnapshot call begins, with Infinity, and when it ends with an unknown outcome. */
  recordUncertainDeletion({ refUid }: Content, endMs: number): void {
    for (const [other, end] of this.#uncertainDeletions) {
      if (end < endMs - MAX_AGE_MS && Number.isFinite(endMs)) this.#uncertainDeletions.delete(other)
    }
    this.#uncertainDeletions.set(refUid, endMs)
  }

  /** Called when DeleteSnapshot has succeeded or has finally failed. */
  endUncertainDeletion({ refUid }: Pick<Content, 'refUid'>): void {
    this.#uncertainDeletions.delete(refUid)
  }

  /** Returns when the last uncertain DeleteSnapshot call for this VolumeSnapshot ended, or Infinity while it runs. */
  uncertainDeletionEnd(refUid: string): number | undefined {
    return this.#uncertainDeletions.get(refUid)
  }

  /**
   * Called when a content leaves the cache. `last` is its last stored state, if known. `hasSnapshot` is true if the
   * status or the spec names a snapshot that the deletion of the content should delete. Returns true if the content must
   * be handled.
   */
  recordLostContent(cached: Content, last: Content | undefined, hasSnapshot: boolean): boolean {
    const { key, uid } = cached
    if (last !== undefined) this.recordState(last)
    const content = last ?? cached
    // A snapshot whose handle is stored is known to the user.
    const creation = content.status?.handle === undefined ? this.#creations.get(uid) : undefined
    this.#creations.delete(uid)
    if (this.#finished.delete(uid) || (creation === undefined && !hasSnapshot)) return this.lostOf(key).length > 0
    const lost = { content, isLastStoredState: last !== undefined, creation }
    this.#lost.set(key, [...this.lostOf(key), lost])
    return true
  }

  lostOf(key: string): readonly LostContent[] {
    return this.#lost.get(key) ?? []
  }

  /** Returns all contents that left the cache and were not handled yet. */
  *allLost(): Generator<LostContent> {
    for (const lost of this.#lost.values()) yield* lost
  }

  /** Forgets the lost contents of this name to which the condition applies. */
  forgetLost(key: string, isObsolete: (lost: LostContent) => boolean): void {
    const left = this.lostOf(key).filter((lost) => !isObsolete(lost))
    if (left.length === 0) this.#lost.delete(key)
    else this.#lost.set(key, left)
  }
}
