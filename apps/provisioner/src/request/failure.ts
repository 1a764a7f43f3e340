import { errorChain } from '@csi-sidecars/base'
import { ApiError, isForbidden, isNotFound } from '@csi-sidecars/kube-client'
import type { ClaimWakeEvent } from './wake-events.ts'

/** The cause of a failed try, and the events that end the pause after it. */
export interface ProvisionErrorOptions {
  readonly cause?: unknown
  /** The objects of which one must change before a retry can succeed. */
  readonly waitsFor?: readonly ClaimWakeEvent[]
  /** True if another node may succeed, so that the scheduler should select another node. */
  readonly reschedule?: boolean
}

/** A failure that ends an attempt before the driver is called. Its message is part of an event. */
export class ProvisionError extends Error {
  override readonly name = 'ProvisionError'
  readonly waitsFor: readonly ClaimWakeEvent[]
  readonly reschedule: boolean

  constructor(message: string, { cause, waitsFor = [], reschedule = false }: ProvisionErrorOptions = {}) {
    super(message, { cause })
    this.waitsFor = waitsFor
    this.reschedule = reschedule
  }
}

/** Reports whether an error before the call lasts until a user acts. Other errors of the API server are temporary. */
export function isLasting(error: unknown): boolean {
  return [...errorChain(error)].every(
    (cause) => !(cause instanceof ApiError) || isNotFound(cause) || isForbidden(cause),
  )
}
