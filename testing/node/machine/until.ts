import { systemClock } from '@csi-sidecars/base'

/** Waits until `look` returns true. Throws after the time limit with the reason of `diagnose`. */
export async function until(
  description: string,
  check: () => boolean,
  {
    seconds = 120,
    everyMs = 200,
    diagnose = () => '',
  }: { seconds?: number; everyMs?: number; diagnose?: () => string } = {},
): Promise<void> {
  const end = systemClock.monotonic() + seconds * 1000
  while (!check()) {
    if (systemClock.monotonic() > end) throw new Error(`no ${description} within ${seconds} s ${diagnose()}`.trim())
    await systemClock.sleep(everyMs)
  }
}
