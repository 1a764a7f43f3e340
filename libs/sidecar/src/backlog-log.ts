import type { Clock } from '@csi-sidecars/base'
import type { Backlog, PendingWork } from '@csi-sidecars/controller'
import { type Logger, objectRef, type Pairs } from '@csi-sidecars/telemetry'

export interface BacklogLogOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Between two lines about the queues; none when 0 or less. */
  readonly intervalMs: number
}

/** Between two looks for stuck objects. */
const STUCK_INTERVAL_MS = 60_000
/** Where more are stuck than anybody reads, the rest is a number. */
const MOST_STUCK_LINES = 100

/** Says while work waits how much of it, and at -v=2 which objects are stuck; until the returned function is called. */
export function logBacklog(backlog: Backlog, { clock, log, intervalMs }: BacklogLogOptions): () => void {
  const ends: (() => void)[] = []
  if (intervalMs > 0) ends.push(repeated(clock, intervalMs, () => logDepths(backlog, log)))
  ends.push(repeated(clock, STUCK_INTERVAL_MS, () => logStuck(backlog, { clock, log })))
  return () => {
    for (const end of ends) end()
  }
}

function repeated(clock: Clock, ms: number, act: () => void): () => void {
  let cancel = (): void => {}
  const arm = (): void => {
    cancel = clock.schedule(ms, () => {
      arm()
      act()
    })
  }
  arm()
  return () => cancel()
}

function logDepths(backlog: Backlog, log: Logger): void {
  const depths = backlog.depths()
  if (![...depths.values()].some(({ waiting }) => waiting > 0)) return
  const pairs = Object.fromEntries([...depths].map(([queue, { waiting }]) => [queue, waiting]))
  log.info('Work is waiting', pairs)
}

function logStuck(backlog: Backlog, { clock, log }: Pick<BacklogLogOptions, 'clock' | 'log'>): void {
  if (log.v(2) === undefined) return
  let count = 0
  for (const work of backlog.pending()) {
    if (!work.stuck) continue
    count += 1
    if (count <= MOST_STUCK_LINES) log.v(2)?.info('Work is stuck', pairsOf(work, clock.now()))
  }
  if (count > MOST_STUCK_LINES) log.v(2)?.info('More work is stuck', { objects: count - MOST_STUCK_LINES })
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
