import type { Clock } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'

const TIMEOUT_MS = 120_000
const PAUSE_MS = 500
const PASSING: readonly number[] = [CODES.Unavailable, CODES.Aborted, CODES.Canceled, CODES.DeadlineExceeded]

interface Retries {
  readonly withinMs: number
  /** The codes of temporary errors. */
  readonly passing: readonly number[]
}

/** Repeats a call after temporary errors, because a driver that the test kills is unavailable at times. */
export async function retrying<T>(
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: () => Promise<T>,
  { withinMs = TIMEOUT_MS, passing = PASSING }: Partial<Retries> = {},
): Promise<T> {
  const until = clock.monotonic() + withinMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      const passes = error instanceof RpcError && passing.includes(error.code)
      if (!passes || clock.monotonic() > until) throw error
      await clock.sleep(PAUSE_MS, signal)
    }
  }
}
