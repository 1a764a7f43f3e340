import { aborted, Backoff, CancelledError, type Clock, scope } from '@csi-sidecars/base'
import type { Informer } from '@csi-sidecars/informer'
import { isForbidden } from '@csi-sidecars/kube-client'

export interface AwaitedCache {
  readonly informer: Pick<Informer<unknown, never>, 'run' | 'store'>
  /** Reports whether any object waits for the content of the cache. */
  readonly isAwaited: () => boolean
  /** Calls the listener when another object begins to wait, until the returned function is called. */
  readonly onAwaited: (listener: () => void) => () => void
  /** Reads a little of it, to learn whether that is allowed. */
  readonly tryToRead: (signal: AbortSignal) => Promise<unknown>
  readonly clock: Clock
}

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** Replicas and sidecars that started together do not ask together. */
const JITTER = 0.2

/**
 * Runs a cache that this process may not be allowed to read yet. A refused informer retries ever more slowly. So while
 * an object waits for the content, this function also asks the server, and restarts the informer once it may read.
 * The pauses between the questions double from half a second to half a minute. Each object that begins to wait resets
 * them.
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

/** Resolves when the missing permission is granted, when the cache is filled, and when aborted. */
async function untilAllowed(
  { informer, isAwaited, onAwaited, tryToRead, clock }: AwaitedCache,
  signal: AbortSignal,
): Promise<void> {
  const pauses = new Backoff({
    initialMs: FIRST_PAUSE_MS,
    maxMs: LONGEST_PAUSE_MS,
    jitter: JITTER,
    random: () => clock.random(),
  })
  let endPause = (): void => undefined
  let another = false
  using undo = new DisposableStack()
  undo.defer(
    onAwaited(() => {
      another = true
      endPause()
    }),
  )
  informer.store.whenSynced(signal).then(
    () => endPause(),
    () => undefined,
  )
  for (let refused = false; ; ) {
    if (!another) {
      using pause = scope(signal)
      endPause = () => pause.abort(new CancelledError('the pause is over'))
      await (isAwaited() ? clock.sleep(pauses.next(), pause.signal) : aborted(pause.signal)).catch(() => undefined)
    }
    if (another && !informer.store.synced) {
      another = false
      pauses.reset()
      // New waiters do not cut this pause short. Otherwise many waiters would postpone the try without end.
      endPause = () => undefined
      await clock.sleep(pauses.next(), signal).catch(() => undefined)
    }
    if (signal.aborted || informer.store.synced) return
    another = false
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
