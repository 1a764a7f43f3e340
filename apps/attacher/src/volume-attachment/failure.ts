import { messageOf } from '@csi-sidecars/base'
import type { CallFailure } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { isTooManyRequests } from '@csi-sidecars/kube-client'

/** An error of an attach or a detach, with the message for users. */
export class OperationError extends Error {
  override readonly name = 'OperationError'
}

/** The attachment was deleted or recreated. Users never see this error. */
export class AttachmentGoneError extends Error {
  override readonly name = 'AttachmentGoneError'
}

/** Returns a handler that puts the name of the failed operation before the message. */
export function rethrowAs(failedStep: string): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof AttachmentGoneError) throw cause
    throw new OperationError(`${failedStep}: ${messageOf(cause)}`, { cause })
  }
}

/**
 * Reports whether users see the failure. They see every failure except two: a request that the API server asks to repeat
 * later, and a call during which the driver disconnected. Neither concerns the volume. The work is only delayed.
 */
export function concernsVolume(error: unknown, { status, driverLost }: CallFailure): boolean {
  if (status !== undefined) return !driverLost
  return !isTooManyRequests(error instanceof OperationError ? error.cause : error)
}

/** Reports whether the driver has answered NotFound: it does not know the volume or the node. */
export function isNotFoundByDriver(error: unknown): boolean {
  return error instanceof RpcError && error.code === CODES.NotFound
}
