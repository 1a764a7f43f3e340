import type { Status, StatusDetails } from '@csi-sidecars/kube-types'

/** The fields of an ApiError, as the API server or the client states them. */
export interface ApiErrorFields {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: StatusDetails | undefined
  /** The pause before a retry. Default: the server asks for none. */
  readonly retryAfterMs?: number | undefined
  /** True if the server may have executed the request. Default: false. */
  readonly outcomeUnknown?: boolean | undefined
  readonly cause?: unknown
}

/** The error of a request that the server refused or did not answer. Its message is written for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** The HTTP status. 0 if the server did not answer. */
  readonly code: number
  /** The reason of the Status, such as `NotFound`. Empty if the server gave none. */
  readonly reason: string
  readonly details: StatusDetails | undefined
  /** The milliseconds to wait before a retry, as the server demands. The client has not waited for this time. */
  readonly retryAfterMs: number | undefined
  /** True if the server may have carried out the write. The caller must read the object before the next write. */
  readonly outcomeUnknown: boolean

  constructor(fields: ApiErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = fields.code
    this.reason = fields.reason
    this.details = fields.details
    this.retryAfterMs = fields.retryAfterMs
    this.outcomeUnknown = fields.outcomeUnknown ?? false
  }
}

/** Converts a Status into an error. The Status is an answer, or part of the ERROR event of a watch. */
export function apiErrorOf(
  status: Status,
  more: Pick<ApiErrorFields, 'retryAfterMs' | 'outcomeUnknown'> = {},
): ApiError {
  const seconds = status.details?.retryAfterSeconds
  return new ApiError({
    code: status.code ?? 500,
    reason: status.reason ?? '',
    message: status.message ?? 'unknown',
    details: status.details,
    retryAfterMs: more.retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000),
    outcomeUnknown: more.outcomeUnknown,
  })
}

export function isNotFound(thrown: unknown): boolean {
  return has(thrown, 404, 'NotFound')
}

/** Reports whether the server refused a write with 409 because the object has changed since it was read. */
export function isConflict(thrown: unknown): boolean {
  return has(thrown, 409, 'Conflict')
}

export function isAlreadyExists(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.reason === 'AlreadyExists'
}

/** Reports whether the server no longer has the requested version. The caller must list again. */
export function isGone(thrown: unknown): boolean {
  return has(thrown, 410, 'Gone') || has(thrown, 410, 'Expired')
}

export function isForbidden(thrown: unknown): boolean {
  return has(thrown, 403, 'Forbidden')
}

export function isTooManyRequests(thrown: unknown): boolean {
  return has(thrown, 429, 'TooManyRequests')
}

export function isInvalid(thrown: unknown): boolean {
  return has(thrown, 422, 'Invalid')
}

/** Reports whether the server refused a write because the object has another UID than the write expects. */
export function isUidMismatch(thrown: unknown): boolean {
  if (!isInvalid(thrown) || !(thrown instanceof ApiError)) return false
  return thrown.details?.causes?.some(({ field }) => field === 'metadata.uid') === true
}

/** The message with which the API server refuses a JSON patch that it cannot apply. */
export const UNPROCESSABLE = 'the server rejected our request due to an error in our request'

/**
 * Reports whether the server refused a write because another client has changed or replaced the object: a conflict, or
 * a failed `test` of a JSON patch. The caller reads the object and builds the write again.
 */
export function isOutdated(thrown: unknown): boolean {
  if (isConflict(thrown) || isUidMismatch(thrown)) return true
  // Webhooks may refuse a write as invalid, too. Their message starts with their name.
  return isInvalid(thrown) && thrown instanceof ApiError && thrown.message === UNPROCESSABLE
}

/** Reports whether the target of a write was deleted, even if another object has its name now. */
export function isMissing(thrown: unknown): boolean {
  return isNotFound(thrown) || isUidMismatch(thrown)
}

/** Reports whether a request got no answer. `isOutcomeUnknown` reports whether the server may have carried it out. */
export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.code === 0
}

/** Reports whether the server may have carried out the write whose request has failed. */
export function isOutcomeUnknown(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.outcomeUnknown
}

/** Reports whether an error has this reason. If the server gave no reason, compares the HTTP status instead. */
function has(thrown: unknown, code: number, reason: string): boolean {
  if (!(thrown instanceof ApiError)) return false
  return thrown.reason === '' ? thrown.code === code : thrown.reason === reason
}
