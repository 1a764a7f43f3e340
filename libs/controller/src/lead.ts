import { isAbort } from '@csi-sidecars/base'
import type { Informer } from '@csi-sidecars/informer'

/** The right to act, while one process has it. */
export interface Lead {
  /** Take no more work; what runs may end. */
  readonly stop: AbortSignal
  /** All work must be given up now: the lease is lost, or the time to drain is over. Comes after `stop`. */
  readonly cut: AbortSignal
  /** Throws unless this process may act at this very moment. Call right before each call and each write. */
  readonly assertLeading: () => void
  /** Since when no other process acts, in monotonic time. */
  readonly soleSince: number
}

/** A cache that decisions read. */
export type ReadCache = Pick<Informer<unknown, never>, 'caughtUp'>

/**
 * Waits until the caches contain everything that an earlier leader has done: a standby's may lag blockedBy, and what it would do
 * from them has been done, or undone, already. False when stopped before.
 */
export async function caughtUp(caches: readonly ReadCache[], { stop, soleSince }: Lead): Promise<boolean> {
  try {
    await Promise.all(caches.map((cache) => cache.caughtUp(soleSince, stop)))
    return true
  } catch (error) {
    if (stop.aborted && isAbort(error)) return false
    throw error
  }
}
