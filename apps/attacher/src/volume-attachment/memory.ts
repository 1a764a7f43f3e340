import { PublishedVolumes } from './published.ts'

/** What the API cannot hold. Lost with the process and with leadership, without harm. */
export class AttachmentMemory {
  readonly published = new PublishedVolumes()
  readonly #forced = new Set<string>()
  readonly #statusPending = new Set<string>()
  /** By name, the uid that the API server has said to be gone before the watch has. */
  readonly #gone = new Map<string, string>()
  /** By name, the uid of attachments whose lost volume was detached: it is not detached again. */
  readonly #lostDetached = new Map<string, string>()

  /** The next run acts though the status says that nothing is to be done. */
  force(key: string): void {
    this.#forced.add(key)
  }

  isForced(key: string): boolean {
    return this.#forced.has(key)
  }

  /** Uses up the force mark. */
  takeForce(key: string): boolean {
    return this.#forced.delete(key)
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

  markLostDetached({ key, uid }: { key: string; uid: string }): void {
    this.#lostDetached.set(key, uid)
  }

  isLostDetached({ key, uid }: { key: string; uid: string }): boolean {
    return this.#lostDetached.get(key) === uid
  }

  forget(key: string): void {
    this.#lostDetached.delete(key)
    this.#forced.delete(key)
    this.#statusPending.delete(key)
    this.#gone.delete(key)
  }
}
