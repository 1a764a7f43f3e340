import { messageOf } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { isTooManyRequests } from '@csi-sidecars/kube-client'

/** The consequences of a failure for the object, the retry and the log. */
export interface OperationFailure {
  readonly message: string
  /** The gRPC code of the driver's answer. */
  readonly code: number | undefined
  /** True if the failure is recorded in the status of the object. */
  readonly record: boolean
  /** The pause that the driver asks for. */
  readonly retryAfterMs: number | undefined
}

/** An error of an attach or a detach, with the message for users. */
export class OperationError extends Error {
  override readonly name = 'OperationError'
}

/** The attachment was deleted or recreated. Users never see this error. */
export class AttachmentGoneError extends Error {
  override readonly name = 'AttachmentGoneError'
}

/** Returns a handler that puts the name of the failed operation before the message. */
export function during(what: string): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof AttachmentGoneError) throw cause
    throw new OperationError(`${what}: ${messageOf(cause)}`, { cause })
  }
}

/**
 * Users see every failure except two: a request that the API server asks to repeat later, and a call during which the
 * driver disconnected. Neither concerns the volume. The work is only delayed.
 */
export function failureOf(error: unknown, driverLost: boolean): OperationFailure {
  const message = messageOf(error)
  if (error instanceof RpcError) {
    // A requested pause of 0 means the usual back-off: otherwise the driver would be called again without a pause.
    const retryAfterMs = error.retryAfterMs || undefined
    return { message, code: error.code, record: !driverLost, retryAfterMs }
  }
  const busy = isTooManyRequests(error instanceof OperationError ? error.cause : error)
  return { message, code: undefined, record: !busy, retryAfterMs: undefined }
}

/** Reports whether the driver has answered NotFound: it does not know the volume or the node. */
export function isNotFoundByDriver(error: unknown): boolean {
  return error instanceof RpcError && error.code === CODES.NotFound
}
