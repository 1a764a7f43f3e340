import { UndoneWrites } from '../undone-writes.ts'
import { PublishedVolumes } from './published.ts'

/** What the driver's listing says of an attachment, compared with its status. */
export type Listing = 'same' | 'different'

/** What the API cannot hold. Lost with the process and with leadership, without harm. */
export class AttachmentMemory {
  readonly published = new PublishedVolumes()
  /** Attachments that other writers have reverted to not attached. */
  readonly statuses: UndoneWrites
  /** Living attachments from which other writers have removed our finalizer. */
  readonly finalizers: UndoneWrites
  readonly #listings = new Map<string, Listing>()
  readonly #statusPending = new Set<string>()
  /** By name, the uid that the API server has said to be gone before the watch has. */
  readonly #gone = new Map<string, string>()
  /** By name, the id that the node had before an attach to another one has replaced it in the annotation. */
  readonly #formerNodes = new Map<string, { readonly uid: string; readonly nodeId: string }>()
  /** By name, the uid of attachments whose lost volume was detached: it is not detached again. */
  readonly #lostDetached = new Map<string, string>()

  constructor(options: ConstructorParameters<typeof UndoneWrites>[0]) {
    this.statuses = new UndoneWrites(options)
    this.finalizers = new UndoneWrites(options)
  }

  /** Runs act on it until one of them succeeds. */
  noteListing(key: string, listing: Listing): void {
    this.#listings.set(key, listing)
  }

  listing(key: string): Listing | undefined {
    return this.#listings.get(key)
  }

  /** An attach has failed, and the status says attached: without this nothing would try it again. */
  force(key: string): void {
    this.#listings.set(key, 'different')
  }

  /** Whether runs act though the status says that nothing is to be done. */
  isForced({ key, uid }: { key: string; uid: string }): boolean {
    return this.#listings.get(key) === 'different' || this.published.hasReplaced(uid)
  }

  /** What the listing has asked for is done. */
  clearListing(key: string): void {
    this.#listings.delete(key)
  }

  /** The attachment's status must say that it is detached, and nothing in the API shows that it does not yet. */
  markStatusPending(key: string): void {
    this.#statusPending.add(key)
  }

  statusPending(key: string): boolean {
    return this.#statusPending.has(key)
  }

  /** The status is as it should be. */
  clearStatusPending(key: string): void {
    this.#statusPending.delete(key)
  }

  /** The attachment is gone, though the cache still holds it. */
  markGone({ key, uid }: { key: string; uid: string }): void {
    this.#gone.set(key, uid)
  }

  isGone({ key, uid }: { key: string; uid: string }): boolean {
    return this.#gone.get(key) === uid
  }

  /** The API server holds it after all. */
  clearGone(key: string): void {
    this.#gone.delete(key)
  }

  noteFormerNode({ key, uid }: { key: string; uid: string }, nodeId: string): void {
    this.#formerNodes.set(key, { uid, nodeId })
  }

  formerNode({ key, uid }: { key: string; uid: string }): string | undefined {
    const former = this.#formerNodes.get(key)
    return former?.uid === uid ? former.nodeId : undefined
  }

  markLostDetached({ key, uid }: { key: string; uid: string }): void {
    this.#lostDetached.set(key, uid)
  }

  isLostDetached({ key, uid }: { key: string; uid: string }): boolean {
    return this.#lostDetached.get(key) === uid
  }

  forget(key: string): void {
    this.statuses.forget(key)
    this.finalizers.forget(key)
    this.#formerNodes.delete(key)
    this.#lostDetached.delete(key)
    this.#listings.delete(key)
    this.#statusPending.delete(key)
    this.#gone.delete(key)
  }
}
