import { messageOf } from '@csi-sidecars/base'

/** Thrown if the snapshot content was deleted or recreated. */
export class ContentGoneError extends Error {
  override readonly name = 'ContentGoneError'
}

/** Thrown for an invalid request, which was not sent to the driver. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError'
}

/** Thrown if another process has changed the content, so that the request must be built again. It was not sent. */
export class OutdatedRequestError extends Error {
  override readonly name = 'OutdatedRequestError'
}

/** The reason of a retry: the driver has the snapshot, but it is not ready to use. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError'
}

/** Returns a `catch` handler that puts the name of the failed operation before the message. */
export function rethrowAs(
  failedStep: string,
  show: (message: string) => string = (message) => message,
): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof ContentGoneError || cause instanceof OutdatedRequestError) throw cause
    throw new Error(`${failedStep}: ${show(messageOf(cause))}`, { cause })
  }
}
