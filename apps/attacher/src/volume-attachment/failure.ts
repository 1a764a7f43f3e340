import { messageOf } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { isTooManyRequests } from '@csi-sidecars/kube-client'

/** Why an attach or a detach failed, in the words that users see. */
export class OperationError extends Error {
  override readonly name = 'OperationError'
}

/** The attachment is gone; what has its name now, if anything, is another one. No user sees this error. */
export class AttachmentGoneError extends Error {
  override readonly name = 'AttachmentGoneError'
}

/** Puts what was being done in front of why it failed. */
export function during(what: string): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof AttachmentGoneError) throw cause
    throw new OperationError(`${what}: ${messageOf(cause)}`, { cause })
  }
}

/** What a failure means for the object, the retry and the log; decided here only. */
export interface OperationFailure {
  readonly message: string
  /** The gRPC status, when the driver itself has answered with one. */
  readonly code: number | undefined
  /** Whether users see it in the status of the object. */
  readonly record: boolean
  /** When the driver has said to come back. */
  readonly retryAfterMs: number | undefined
}

/**
 * Users see every failure but two that only delay the work and say nothing about the volume:
 * an API server that asks to retry later, and a driver that disconnected during a call and is awaited.
 */
export function failureOf(error: unknown, driverLost: boolean): OperationFailure {
  const message = messageOf(error)
  if (error instanceof RpcError) {
    // One that asks for no wait at all gets the usual one: it would be called without a pause.
    const retryAfterMs = error.retryAfterMs || undefined
    return { message, code: error.code, record: !driverLost, retryAfterMs }
  }
  const busy = isTooManyRequests(error instanceof OperationError ? error.cause : error)
  return { message, code: undefined, record: !busy, retryAfterMs: undefined }
}

/** The driver knows no such volume, or no such node. */
export function isNotFoundByDriver(error: unknown): boolean {
  return error instanceof RpcError && error.code === CODES.NotFound
}
