import { CancelledError, type Clock, scope } from '@csi-sidecars/base'
import type { Informer } from '@csi-sidecars/informer'
import { isForbidden } from '@csi-sidecars/kube-client'

export interface AwaitedCache {
  readonly informer: Pick<Informer<unknown, never>, 'run' | 'store'>
  /** Whether anybody waits for what the cache would hold. */
  readonly isAwaited: () => boolean
  /** Reads a little of it, to learn whether that is allowed. */
  readonly tryToRead: (signal: AbortSignal) => Promise<unknown>
  readonly clock: Clock
}

const PERIOD_MS = 500

/**
 * Runs a cache that this process may not be allowed to read yet. An informer that is refused comes back ever more
 * slowly. So while somebody waits for what it would hold the server is asked twice a second, and once it has changed its
 * mind the informer begins anew.
 */
export async function runAwaited(cache: AwaitedCache, signal: AbortSignal): Promise<void> {
  const { informer } = cache
  while (!signal.aborted && !informer.store.synced) {
    using attempt = scope(signal)
    const running = informer.run(attempt.signal)
    await untilAllowed(cache, attempt.signal)
    if (informer.store.synced) return await running
    attempt.abort(new CancelledError('the cache may be read now'))
    await running
  }
  if (!signal.aborted) await informer.run(signal)
}

/** Resolves when what was refused is allowed, when the cache is filled, and when aborted. */
async function untilAllowed(
  { informer, isAwaited, tryToRead, clock }: AwaitedCache,
  signal: AbortSignal,
): Promise<void> {
  for (let refused = false; ; ) {
    await clock.sleep(PERIOD_MS, signal).catch(() => undefined)
    if (signal.aborted || informer.store.synced) return
    if (!isAwaited()) continue
    try {
      await tryToRead(signal)
      // A first list that only takes its time must not be begun again and again.
      if (refused) return
    } catch (error) {
      refused ||= isForbidden(error)
    }
  }
}
