import type { Clock } from '@csi-sidecars/base'

/** How many looks may still see a deleted volume: a provisioner repeats a call after ten seconds at most. */
const GONE_LOOKS = 20
const GONE_MS = 60_000
/** The pause between two looks. */
const LOOK_MS = 1_000

/**
 * Returns the objects of the last look, after they had time to disappear. Undefined if no look could see whether
 * objects remain.
 */
export async function leftAtLast(
  look: () => Promise<readonly string[] | undefined>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  let left: readonly string[] | undefined
  const until = clock.monotonic() + GONE_MS
  for (let looks = GONE_LOOKS; looks > 0 && clock.monotonic() < until; looks -= 1) {
    left = (await look()) ?? left
    if (left?.length === 0) break
    await clock.sleep(LOOK_MS, signal)
  }
  return left
}
