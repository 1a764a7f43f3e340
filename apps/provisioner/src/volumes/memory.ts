import type { Clock } from '@csi-sidecars/base'
import { EventDeduplicator } from '@csi-sidecars/controller'

/** The facts that only this process remembers about volumes in deletion, by the UIDs of their PersistentVolumes. */
export class VolumeMemory {
  /** The UIDs of PersistentVolumes whose volumes the driver has already deleted. */
  readonly #deleted = new Set<string>()
  readonly #events: EventDeduplicator

  constructor(clock: Clock) {
    this.#events = new EventDeduplicator({ clock })
  }

  recordDeletion(uid: string): void {
    this.#deleted.add(uid)
  }

  driverHasDeleted(uid: string): boolean {
    return this.#deleted.has(uid)
  }

  /** Reports whether to record an event with the message about the volume. If so, remembers it. */
  shouldRecord(uid: string, message: string): boolean {
    return this.#events.shouldRecord(uid, message)
  }

  forget(uid: string): void {
    this.#deleted.delete(uid)
    this.#events.forget(uid)
  }
}
