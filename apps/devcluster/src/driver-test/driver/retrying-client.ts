import type { Clock } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'

const TIMEOUT_MS = 120_000
const PAUSE_MS = 500
const PASSING: readonly number[] = [CODES.Unavailable, CODES.Aborted, CODES.Canceled, CODES.DeadlineExceeded]

/** Asks again while the driver is away or busy, as one that is being killed is now and then. */
export async function retrying<T>(
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<T>,
  { withinMs = TIMEOUT_MS } = {},
): Promise<T> {
  const until = clock.monotonic() + withinMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      const passes = error instanceof RpcError && PASSING.includes(error.code)
      if (!passes || clock.monotonic() > until) throw error
      await clock.sleep(PAUSE_MS, signal)
    }
  }
}
