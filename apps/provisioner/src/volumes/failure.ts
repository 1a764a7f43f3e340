import { messageOf } from '@csi-sidecars/base'

/** The consequences of a failed deletion. The deletion is tried again in each case. */
export interface DeletionFailure {
  readonly message: string
  /**
   * `inUse`: the deletion waits, and does not count as failed. `driverLost`: the driver is disconnected, so the failure says
   * nothing about the volume. `failed`: users see the failure.
   */
  readonly kind: 'inUse' | 'driverLost' | 'failed'
}

/** Thrown for a volume that is attached or being cloned. Such a deletion waits, and does not count as failed. */
export class InUseError extends Error {
  override readonly name = 'InUseError'
}

/** Returns the consequences of an error. `driverLost` is true if the driver is disconnected. */
export function deletionFailure(error: unknown, driverLost: boolean): DeletionFailure {
  const message = messageOf(error)
  if (error instanceof InUseError) return { message, kind: 'inUse' }
  return { message, kind: driverLost ? 'driverLost' : 'failed' }
}
