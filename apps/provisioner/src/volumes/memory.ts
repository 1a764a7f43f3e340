import type { Clock } from '@csi-sidecars/base'
import { News } from '../claims/memory.ts'

/** The facts that only this process remembers about volumes in deletion, by the UIDs of their PersistentVolumes. */
export class VolumeMemory {
  /** The UIDs of PersistentVolumes whose volumes the driver has already deleted. */
  readonly #deleted = new Set<string>()
  readonly #news: News

  constructor(clock: Clock) {
    this.#news = new News(clock)
  }

  deleted(uid: string): void {
    this.#deleted.add(uid)
  }

  isDeleted(uid: string): boolean {
    return this.#deleted.has(uid)
  }

  isNews(uid: string, message: string): boolean {
    return this.#news.isNews(uid, message)
  }

  forget(uid: string): void {
    this.#deleted.delete(uid)
    this.#news.forget(uid)
  }
}
