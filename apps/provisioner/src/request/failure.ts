import type { Cause } from '@csi-sidecars/controller'

export interface ProvisionErrorOptions {
  readonly cause?: unknown
  /** The changes that may end the failure. */
  readonly waitsFor?: readonly Cause[]
  /** Another node may succeed: the scheduler selects one. */
  readonly reschedule?: boolean
}

/** A failure before the call. Its message is part of an event. It says nothing about an earlier call. */
export class ProvisionError extends Error {
  override readonly name = 'ProvisionError'
  readonly waitsFor: readonly Cause[]
  readonly reschedule: boolean

  constructor(message: string, { cause, waitsFor = [], reschedule = false }: ProvisionErrorOptions = {}) {
    super(message, { cause })
    this.waitsFor = waitsFor
    this.reschedule = reschedule
  }
}
