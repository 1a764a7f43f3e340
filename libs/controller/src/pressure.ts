import { type Clock, errorChain } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { AdaptiveOrder, FifoOrder } from '@csi-sidecars/workqueue'
import type { Backlog } from './backlog.ts'
import type { Controller } from './controller.ts'

/** The codes with which a driver answers that it has too much work, or with which its calls end for this reason. */
const PRESSURE_CODES: ReadonlySet<number> = new Set([CODES.ResourceExhausted, CODES.DeadlineExceeded, CODES.Aborted])

/**
 * Returns a controller that runs fewer keys at once if the calls of many keys end because the driver has too much work,
 * and more again if calls succeed. The workers of the controller stay the upper bound.
 */
export function adaptToPressure<K extends string>(
  controller: Controller<K>,
  { clock, backlog }: { readonly clock: Clock; readonly backlog: Backlog },
): Controller<K> {
  if (controller.workers <= 0) return controller
  const { name, workers: max, order: inner = new FifoOrder(), onFailure, onComplete } = controller
  const order = new AdaptiveOrder({ order: inner, max, clock, onLimit: (limit) => backlog.recordLimit(name, limit) })
  return {
    ...controller,
    order,
    onFailure: (key, cause) => {
      if (isPressure(cause)) order.refused(key)
      onFailure?.(key, cause)
    },
    onComplete: (key, subject, since) => {
      order.succeeded()
      onComplete?.(key, subject, since)
    },
  }
}

function isPressure(thrown: unknown): boolean {
  for (const cause of errorChain(thrown)) {
    if (cause instanceof RpcError) return PRESSURE_CODES.has(cause.code)
  }
  return false
}
