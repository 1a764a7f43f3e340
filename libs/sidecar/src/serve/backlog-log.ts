import { CancelledError, inBatches, scope } from '@csi-sidecars/base'
import type { Backlog, PendingWork } from '@csi-sidecars/controller'
import { type Logger, objectRef, type Pairs } from '@csi-sidecars/telemetry'
import type { StartContext } from '../process.ts'

/** The pause between two searches for stuck objects. */
const STUCK_INTERVAL_MS = 60_000
/** The maximum number of objects with a separate log line. The other objects are counted in one line. */
const MAX_STUCK_LINES = 100

/**
 * Logs the depth of each queue while work waits, and at -v=2 the stuck objects, until the returned function is called.
 * `intervalMs` is the pause between two lines about the queues. With 0 or less, these lines are omitted.
 */
export function logBacklog(
  backlog: Backlog,
  { clock, log }: Pick<StartContext, 'clock' | 'log'>,
  intervalMs: number,
): () => void {
  const stop = scope()
  const { signal } = stop
  /** Reports again after each pause. A failed report is logged: it must not end the sidecars of the process. */
  const repeat = async (ms: number, report: () => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      try {
        await clock.sleep(ms, signal)
        await report()
      } catch (error) {
        if (!signal.aborted) log.error(error, 'The pending work could not be logged')
      }
    }
  }
  if (intervalMs > 0) void repeat(intervalMs, () => logDepths(backlog, log, signal))
  void repeat(STUCK_INTERVAL_MS, () => logStuck(backlog, { clock, log }, signal))
  return () => stop.abort(new CancelledError('the log of pending work has stopped'))
}

async function logDepths(backlog: Backlog, log: Logger, signal: AbortSignal): Promise<void> {
  const depths = await backlog.depths(signal)
  if (![...depths.values()].some(({ waiting }) => waiting > 0)) return
  const pairs = Object.fromEntries([...depths].map(([queue, { waiting }]) => [queue, waiting]))
  log.info('Work is waiting', pairs)
}

async function logStuck(
  backlog: Backlog,
  { clock, log }: Pick<StartContext, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  if (log.v(2) === undefined) return
  let count = 0
  const logWork = (work: PendingWork): void => {
    if (!work.stuck) return
    count += 1
    if (count <= MAX_STUCK_LINES) log.v(2)?.info('Work is stuck', pairsOf(work, clock.now()))
  }
  await inBatches(backlog.pending(), logWork, { clock, signal })
  if (count > MAX_STUCK_LINES) log.v(2)?.info('More work is stuck', { objects: count - MAX_STUCK_LINES })
}

function pairsOf(work: PendingWork, now: number): Pairs {
  const { operation, object, volume, node, state, reason, tries, message, since } = work
  const { namespace = '', name = work.key } = object ?? {}
  const seconds = Math.round((now - since) / 1000)
  return {
    operation,
    ...(object && { kind: object.kind }),
    object: objectRef({ name, namespace }),
    ...(volume !== undefined && { volume }),
    ...(node !== undefined && { node }),
    state,
    reason,
    age: `${seconds}s`,
    tries,
    ...(message !== undefined && { err: message }),
  }
}
