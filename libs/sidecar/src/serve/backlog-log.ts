import { CancelledError, scope } from '@csi-sidecars/base'
import type { Backlog } from '@csi-sidecars/controller'
import type { Logger } from '@csi-sidecars/telemetry'
import type { StartContext } from '../process.ts'

/**
 * Logs the depth of each queue while work waits, until the returned function is called. `intervalMs` is the pause
 * between two lines. With 0 or less there are none.
 */
export function logBacklog(
  backlog: Backlog,
  { clock, log }: Pick<StartContext, 'clock' | 'log'>,
  intervalMs: number,
): () => void {
  if (intervalMs <= 0) return () => undefined
  const stop = scope()
  const { signal } = stop
  const repeat = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(intervalMs, signal)
      await logDepths(backlog, log, signal)
    }
  }
  repeat().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return () => stop.abort(new CancelledError('the log of pending work has stopped'))
}

async function logDepths(backlog: Backlog, log: Logger, signal: AbortSignal): Promise<void> {
  const depths = await backlog.depths(signal)
  if (![...depths.values()].some(({ waiting }) => waiting > 0)) return
  const pairs = Object.fromEntries([...depths].map(([queue, { waiting }]) => [queue, waiting]))
  log.info('Work is waiting', pairs)
}
