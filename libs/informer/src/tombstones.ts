import type { Identity } from './cached.ts'
import { isNewer } from './version.ts'

/** News that a deletion overtakes are late by seconds at most: so many deletions are enough to remember. */
const REMEMBERED = 2000

/** What has left the cache lately, so that nothing older brings it back. Bounded: the oldest are forgotten first. */
export class Tombstones {
  readonly #graves = new Map<string, Identity>()

  /** Nothing up to this version of the object counts from now on. */
  bury({ key, uid, resourceVersion }: Identity): void {
    this.#graves.delete(key)
    this.#graves.set(key, { key, uid, resourceVersion })
    if (this.#graves.size <= REMEMBERED) return
    const [oldest] = this.#graves.keys()
    if (oldest !== undefined) this.#graves.delete(oldest)
  }

  /** Whether these news come too late. Another object of the same name, or a later state, do not. */
  covers(news: Identity): boolean {
    const grave = this.#graves.get(news.key)
    return grave !== undefined && grave.uid === news.uid && !isNewer(news, grave)
  }
}
