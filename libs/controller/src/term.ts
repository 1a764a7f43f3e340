import { aborted, CancelledError, type Clock, isAbort, type Scope, scope, TokenBucket } from '@csi-sidecars/base'
import { perKeyExponential, type QueueMetrics, WorkQueue } from '@csi-sidecars/workqueue'
import type { Backlog } from './backlog.ts'
import type { AnyController, ReadCache } from './controller.ts'
import { Runner } from './runner.ts'
import type { FollowedDriver } from './schedule.ts'

/**
 * The right of this process to act, from the moment when it becomes the leader until it stops.
 *
 * Guarantees: the signal `cancelRuns` is never aborted before the signal `stop`.
 *
 * Caveats: the right may end at any moment. Call `assertLeading` right before each call and each write.
 */
export interface Lead {
  /** Aborted when no new work may start. Running work may end. */
  readonly stop: AbortSignal
  /** Aborted when all work must end now: the lease is lost, or the time to drain is over. */
  readonly cancelRuns: AbortSignal
  /** Throws unless this process may act at this moment. */
  readonly assertLeading: () => void
  /** The moment from which on only this process acts, in monotonic milliseconds. */
  readonly soleSince: number
}

/** The objects that all controllers of `runTerm` share. */
export interface TermOptions {
  readonly clock: Clock
  /** The driver. Undefined if no controller calls a driver. */
  readonly driver?: FollowedDriver
  /** The metrics of the queues. Default: queues have no metrics. */
  readonly queues?: QueueMetrics
  /** Reports pending work. Default: pending work is not reported. */
  readonly backlog?: Backlog | undefined
}

/**
 * Runs controllers until `lead.stop` is aborted and all runs have ended. Each controller starts once its caches are
 * ready. If a controller throws, all controllers are stopped, and the error is thrown when all runs have ended.
 */
export async function runTerm(lead: Lead, controllers: readonly AnyController[], options: TermOptions): Promise<void> {
  // Without controllers, `allEnded` resolves at once, but `runTerm` must wait for `stop`.
  if (controllers.length === 0) await aborted(lead.stop)
  using stop = scope(lead.stop)
  using cancelRuns = scope(lead.cancelRuns)
  const mine = { ...lead, stop: stop.signal, cancelRuns: cancelRuns.signal }
  await allEnded(
    controllers.map((controller) => runController(mine, controller, options)),
    () => end(stop, cancelRuns),
  )
}

async function runController(lead: Lead, controller: AnyController, options: TermOptions): Promise<void> {
  if (!(await listCachesAgain(controller.caches, lead))) return
  controller.onStart?.()
  // Each controller has separate signals, because a signal with the listeners of all idle workers would be slow.
  using stop = scope(lead.stop)
  using cancelRuns = scope(lead.cancelRuns)
  const queue = newQueue(controller, options)
  const runner = new Runner(controller, queue, options)
  try {
    using undo = new DisposableStack()
    if (options.backlog !== undefined) undo.defer(options.backlog.join(() => runner.pending()))
    for (const source of controller.sources) undo.defer(source(runner))
    // Several kinds of wake events may share one source.
    const wakeSources = new Set(Object.values(controller.wakers).map(({ source }) => source))
    for (const source of wakeSources) undo.defer(source(runner))
    if (controller.callsDriver && options.driver !== undefined) undo.defer(runner.follow(options.driver))
    const tasks = [runner.work(stop.signal, cancelRuns.signal), controller.alongside?.(runner, stop.signal)]
    await allEnded(tasks, () => end(stop, cancelRuns))
  } finally {
    queue.shutDown()
    controller.onEnd?.()
  }
}

/**
 * Waits until the caches contain all writes of an earlier leader: the caches of a standby may be old, and show work
 * that is already done. Resolves with false if `stop` is aborted first.
 */
async function listCachesAgain(caches: readonly ReadCache[], { stop, soleSince }: Lead): Promise<boolean> {
  try {
    await Promise.all(caches.map((cache) => cache.ensureListedSince(soleSince, stop)))
    return true
  } catch (error) {
    if (stop.aborted && isAbort(error)) return false
    throw error
  }
}

/** Waits for all promises. The first failure calls `onFailure`, and is thrown when all promises have ended. */
async function allEnded(tasks: readonly (Promise<void> | undefined)[], onFailure: () => void): Promise<void> {
  const watched = tasks.map((part) =>
    part?.catch((error: unknown) => {
      onFailure()
      throw error
    }),
  )
  await Promise.allSettled(watched)
  await Promise.all(watched)
}

function end(...scopes: readonly Scope[]): void {
  for (const each of scopes) each.abort(new CancelledError('a controller failed'))
}

/** The rate of retries. Thousands of failing keys must not overload the driver, the API server and the CPU. */
const RETRIES_PER_SECOND = 100
const RETRIES_AT_ONCE = 500

function newQueue({ name, backoff, order }: AnyController, { clock, queues }: TermOptions): WorkQueue {
  return new WorkQueue({
    clock,
    pace: new TokenBucket({ clock, qps: RETRIES_PER_SECOND, burst: RETRIES_AT_ONCE }),
    limiter: perKeyExponential(backoff),
    ...(order && { order }),
    ...(queues && { observer: queues.observe(name) }),
  })
}
