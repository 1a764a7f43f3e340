import { compareResourceVersions } from '@csi-sidecars/kube-types'
import type { ObjectIdentity } from './cached.ts'

interface Versioned {
  readonly resourceVersion: string
}

/** Versions that are no numbers cannot be compared: then what comes later is newer. */
export function isNewer(news: Versioned, known: Versioned): boolean {
  const order = compareResourceVersions(news.resourceVersion, known.resourceVersion)
  return order > 0 || (order === 0 && news.resourceVersion !== known.resourceVersion)
}

/** States that arrive after their deletion are late by seconds at most, so this many deletions are enough. */
const REMEMBERED = 2000

/** What has left the cache lately, so that nothing older brings it back. Bounded: the oldest are forgotten first. */
export class Tombstones {
  readonly #byKey = new Map<string, ObjectIdentity>()

  /** Nothing up to this version of the object counts from now on. */
  add({ key, uid, resourceVersion }: ObjectIdentity): void {
    this.#byKey.delete(key)
    this.#byKey.set(key, { key, uid, resourceVersion })
    if (this.#byKey.size <= REMEMBERED) return
    const [oldest] = this.#byKey.keys()
    if (oldest !== undefined) this.#byKey.delete(oldest)
  }

  /** Whether these news come too late. Another object of the same name, or a later state, do not. */
  covers(news: ObjectIdentity): boolean {
    const ended = this.#byKey.get(news.key)
    return ended !== undefined && ended.uid === news.uid && !isNewer(news, ended)
  }
}
