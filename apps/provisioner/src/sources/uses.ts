import { KeyedMutex } from '@csi-sidecars/base'
import { type Source, WakeFeed } from '@csi-sidecars/controller'

/**
 * The sources of the CreateVolume calls of this process. A source is a VolumeSnapshot, by its `snapshotKey`, or the
 * claim of the cloned volume, by its UID.
 *
 * Guarantees: a use begins before its run reads the source, and ends after its CreateVolume call. Only one run at a time
 * adds or removes the finalizer of a source. A finalizer that a run has read therefore stays during its use: each later
 * removal calls `isUsed` first.
 */
export class SourceUses {
  /** The source of each call, by the UID of the new volume's claim. */
  readonly #sources = new Map<string, string>()
  readonly #mutex = new KeyedMutex()
  readonly #ends = new WakeFeed<'endOfUse'>()

  /** Wakes keys that wait for the end of the last CreateVolume call that uses the source of this name. */
  readonly source: Source<'endOfUse'> = this.#ends.source

  begin(claimUid: string, source: string): void {
    this.#sources.set(claimUid, source)
  }

  end(claimUid: string): void {
    const name = this.#sources.get(claimUid)
    if (name === undefined) return
    this.#sources.delete(claimUid)
    this.#ends.wake({ kind: 'endOfUse', name })
  }

  isUsed(source: string): boolean {
    for (const usedSource of this.#sources.values()) if (usedSource === source) return true
    return false
  }

  /** Runs work that adds or removes the finalizer of the source, after all earlier work of this kind. */
  runExclusively<T>(source: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(source, signal, work)
  }
}
