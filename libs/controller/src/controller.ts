import { aborted, isAbort, unreachable } from '@csi-sidecars/base'
import type { WorkQueue } from '@csi-sidecars/workqueue'
import { type Outcome, STOPPED } from './outcome.ts'

export interface ControllerOptions {
  readonly queue: WorkQueue
  readonly workers: number
  /** Works on one key. Must settle soon after the signal is aborted. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>
  /** Told of every failed run, before the key is planned again. */
  readonly onFailure?: (key: string, cause: unknown) => void
}

/**
 * Runs the workers until `stop` is aborted, then lets running keys end and resolves.
 * Running keys are cut short only by `cut`, which must come after `stop`.
 * Without workers nothing is worked on until then. Ends as well when the queue is shut down and empty.
 * The only caller of done, addRateLimited and addAfter on its queue.
 */
export async function runController(options: ControllerOptions, stop: AbortSignal, cut: AbortSignal): Promise<void> {
  if (options.workers <= 0) await aborted(stop)
  const workers = Array.from({ length: options.workers }, () => work(options, stop, cut))
  await Promise.all(workers)
}

async function work(options: ControllerOptions, stop: AbortSignal, cut: AbortSignal): Promise<void> {
  for (;;) {
    const key = await nextKey(options.queue, stop)
    if (key === undefined) return
    const outcome = await attempt(options, key, cut)
    settle(options, key, outcome)
    options.queue.done(key)
  }
}

async function nextKey(queue: WorkQueue, stop: AbortSignal): Promise<string | undefined> {
  if (stop.aborted) return undefined
  try {
    return await queue.get(stop)
  } catch (reason) {
    if (stop.aborted) return undefined
    throw reason
  }
}

/** Whatever reconcile throws is a failed run of this key and of no other. */
async function attempt(options: ControllerOptions, key: string, cut: AbortSignal): Promise<Outcome> {
  try {
    return await options.reconcile(key, cut)
  } catch (cause) {
    return cut.aborted && isAbort(cause) ? STOPPED : { kind: 'retry', cause }
  }
}

function settle({ queue, onFailure }: ControllerOptions, key: string, outcome: Outcome): void {
  switch (outcome.kind) {
    case 'settled':
      queue.forget(key)
      return
    case 'again':
      queue.add(key)
      return
    case 'retry':
      onFailure?.(key, outcome.cause)
      queue.addRateLimited(key)
      return
    case 'retryAfter':
      if (outcome.cause !== undefined) onFailure?.(key, outcome.cause)
      queue.addAfter(key, outcome.ms)
      return
    case 'stopped':
      return
    default:
      unreachable(outcome)
  }
}
