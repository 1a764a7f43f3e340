import { aborted, CancelledError, type Clock, type Scope, scope, TokenBucket } from '@csi-sidecars/base'
import { perKeyExponential, type QueueMetrics, WorkQueue } from '@csi-sidecars/workqueue'
import type { Backlog } from './backlog.ts'
import type { Controller } from './controller.ts'
import { caughtUp, type Lead } from './lead.ts'
import { type FollowedDriver, Runner } from './runner.ts'

/** What the controllers of a term share. */
export interface TermOptions {
  readonly clock: Clock
  /** Undefined where nothing is called. */
  readonly driver?: FollowedDriver
  /** Undefined where nobody looks. */
  readonly queues?: QueueMetrics
  /** Undefined where nobody asks what is pending. */
  readonly backlog?: Backlog | undefined
}

/**
 * Runs controllers until `lead.stop` is aborted and what runs has come to its end. Each starts when its caches are ready.
 * Where one throws, all are cut short, and that is thrown once nothing runs any more.
 */
export async function runTerm(lead: Lead, controllers: readonly Controller[], options: TermOptions): Promise<void> {
  // Without any there is nothing that would go on until the end.
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
  // Signals of its own: thousands of idle workers of many controllers on one would make each wait for a key dear.
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

/** Waits for all of them, also where one fails: that calls `onFailure`, and is thrown when the others have ended. */
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
 * Of keys that come back by themselves. A few thousand of those, failing for one reason, would be all that the driver, the
 * API server and the CPU are busy with; none of them is in such a hurry.
 */
const RETRIES_PER_SECOND = 100
const RETRIES_AT_ONCE = 500

function newQueue({ name, backoff, line }: Controller, { clock, queues }: TermOptions): WorkQueue {
  return new WorkQueue({
    clock,
    pace: new TokenBucket({ clock, qps: RETRIES_PER_SECOND, burst: RETRIES_AT_ONCE }),
    limiter: perKeyExponential(backoff),
    ...(line && { line }),
    ...(queues && { observer: queues.observe(name) }),
  })
}
