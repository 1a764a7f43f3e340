import { messageOf } from '@csi-sidecars/base'
import { classify, RpcError } from '@csi-sidecars/csi'
import type { Quantity } from '@csi-sidecars/kube-types'
import { retryAfterOf } from '../claim/retry-after.ts'
import { SecretError } from '../claim/secret.ts'

/** A driver that answers a success which is none. It has done its work and does not continue: as final as an error. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'

  constructor(answered: Quantity, required: Quantity) {
    super(`the driver answered a size of ${answered} where at least ${required} was asked for`)
  }
}

/** A call that did not succeed, or was not made because something for it was missing. */
export interface Failure {
  readonly message: string
  /**
   * `infeasible`: the driver will never do this. `final`: it has failed and is not running.
   * `uncertain`: it may be running, now or from an earlier try.
   */
  readonly kind: 'infeasible' | 'final' | 'uncertain'
  /** The driver does not expand volumes that are in use. */
  readonly inUse: boolean
  /** True if an event is recorded. */
  readonly report: boolean
  /** When the driver has said to come back. */
  readonly retryAfterMs: number | undefined
}

/**
 * Decides the effect of a failure on the claim, its memory and the retry. Every failure is recorded as an event, except
 * two that do not concern the volume: a driver that disconnected during a call, and an API server that asks to retry
 * later.
 */
export function failureOf(error: unknown, driverLost: boolean): Failure {
  const message = messageOf(error)
  const base: Failure = {
    message,
    kind: 'uncertain',
    inUse: false,
    report: true,
    retryAfterMs: undefined,
  }
  if (error instanceof AnswerError) return { ...base, kind: 'final' }
  if (error instanceof SecretError) return { ...base, report: !error.busy }
  if (!(error instanceof RpcError)) return base
  const { final, infeasible, inUse } = classify(error)
  if (!final && driverLost) return { ...base, report: false }
  const kind = infeasible.expand ? 'infeasible' : final ? 'final' : 'uncertain'
  return { ...base, kind, inUse, retryAfterMs: retryAfterOf(error) }
}
