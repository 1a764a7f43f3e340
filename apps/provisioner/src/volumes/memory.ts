/** Facts about volumes in deletion that only this process remembers, by the UIDs of their PersistentVolumes. */
export class VolumeMemory {
  /** The UIDs of PersistentVolumes whose volumes the driver has already deleted. */
  readonly #deleted = new Set<string>()

  deleted(uid: string): void {
    this.#deleted.add(uid)
  }

  isDeleted(uid: string): boolean {
    return this.#deleted.has(uid)
  }

  forget(uid: string): void {
    this.#deleted.delete(uid)
  }
}
