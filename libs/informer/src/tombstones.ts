import { compareResourceVersions } from '@csi-sidecars/kube-types'
import type { ObjectIdentity } from './cached.ts'

interface Versioned {
  readonly resourceVersion: string
}

/** Compares two versions. Versions that are no numbers cannot be compared: then the later news is newer. */
export function isNewer(news: Versioned, known: Versioned): boolean {
  const order = compareResourceVersions(news.resourceVersion, known.resourceVersion)
  return order > 0 || (order === 0 && news.resourceVersion !== known.resourceVersion)
}

/** States that arrive after their deletion are late by seconds at most, so this many deletions are enough. */
const REMEMBERED = 2000

/** The recently deleted objects, so that no older state brings them back. Bounded: the oldest are forgotten first. */
export class Tombstones {
  readonly #byKey = new Map<string, ObjectIdentity>()

  /** Ignores all states of the object up to this version from now on. */
  add({ key, uid, resourceVersion }: ObjectIdentity): void {
    this.#byKey.delete(key)
    this.#byKey.set(key, { key, uid, resourceVersion })
    if (this.#byKey.size <= REMEMBERED) return
    const [oldest] = this.#byKey.keys()
    if (oldest !== undefined) this.#byKey.delete(oldest)
  }

  /** Reports whether the news are too late. Another object of the same name, or a later state, is not. */
  covers(news: ObjectIdentity): boolean {
    const ended = this.#byKey.get(news.key)
    return ended !== undefined && ended.uid === news.uid && !isNewer(news, ended)
  }
}
