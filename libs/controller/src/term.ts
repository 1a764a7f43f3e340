import { aborted, CancelledError, type Clock, type Scope, scope, TokenBucket } from '@csi-sidecars/base'
import { perKeyExponential, type QueueMetrics, WorkQueue } from '@csi-sidecars/workqueue'
import type { Backlog } from './backlog.ts'
import type { Controller } from './controller.ts'
import { caughtUp, type Lead } from './lead.ts'
import { Runner } from './runner.ts'
import type { FollowedDriver } from './schedule.ts'

/** What the controllers of a term share. */
export interface TermOptions {
  readonly clock: Clock
  /** Undefined where nothing is called. */
  readonly driver?: FollowedDriver
  /** Undefined where queues have no metrics. */
  readonly queues?: QueueMetrics
  /** Undefined where pending work is not reported. */
  readonly backlog?: Backlog | undefined
}

/**
 * Runs controllers until `lead.stop` is aborted and all runs have ended. Each starts when its caches are ready.
 * Where one throws, all are cut short, and the error is thrown when all runs have ended.
 */
export async function runTerm(lead: Lead, controllers: readonly Controller[], options: TermOptions): Promise<void> {
  // Without controllers nothing else runs until the end.
  if (controllers.length === 0) await aborted(lead.stop)
  using stop = scope(lead.stop)
  using cut = scope(lead.cut)
  const mine = { ...lead, stop: stop.signal, cut: cut.signal }
  await allEnded(
    controllers.map((controller) => runController(mine, controller, options)),
    () => end(stop, cut),
  )
}

async function runController(lead: Lead, controller: Controller, options: TermOptions): Promise<void> {
  if (!(await caughtUp(controller.caches, lead))) return
  controller.onStart?.()
  // Signals of its own: with the idle workers of all controllers on one signal each wait for a key would be expensive.
  using stop = scope(lead.stop)
  using cut = scope(lead.cut)
  const queue = newQueue(controller, options)
  const runner = new Runner(controller, queue, options)
  try {
    using undo = new DisposableStack()
    if (options.backlog !== undefined) undo.defer(options.backlog.join(() => runner.pending()))
    for (const source of controller.sources) undo.defer(source(runner))
    if (controller.callsDriver && options.driver !== undefined) undo.defer(runner.follow(options.driver))
    const parts = [runner.work(stop.signal, cut.signal), controller.alongside?.(runner, stop.signal)]
    await allEnded(parts, () => end(stop, cut))
  } finally {
    queue.shutDown()
    controller.onEnd?.()
  }
}

/** Waits for all of them, also where one fails: that calls `onFailure`, and its error is thrown when the others have ended. */
async function allEnded(parts: readonly (Promise<void> | undefined)[], onFailure: () => void): Promise<void> {
  const watched = parts.map((part) =>
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

/**
 * Retries. A few thousand keys that fail for one reason would otherwise occupy the driver, the API server and the CPU,
 * and none of them is urgent.
 */
const RETRIES_PER_SECOND = 100
const RETRIES_AT_ONCE = 500

function newQueue({ name, backoff, order }: Controller, { clock, queues }: TermOptions): WorkQueue {
  return new WorkQueue({
    clock,
    pace: new TokenBucket({ clock, qps: RETRIES_PER_SECOND, burst: RETRIES_AT_ONCE }),
    limiter: perKeyExponential(backoff),
    ...(order && { order }),
    ...(queues && { observer: queues.observe(name) }),
  })
}
