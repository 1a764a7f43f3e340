import type { Status, StatusDetails } from '@csi-sidecars/kube-types'

export interface ApiErrorFields {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: StatusDetails | undefined
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** Why a request has no result: the server's Status, or no answer at all. The message is made for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status; 0 when no answer came. */
  readonly code: number
  /** The Status' reason, as `NotFound`; empty when the server gave none. */
  readonly reason: string
  readonly details: StatusDetails | undefined
  readonly retryAfterMs: number | undefined

  constructor(fields: ApiErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = fields.code
    this.reason = fields.reason
    this.details = fields.details
    this.retryAfterMs = fields.retryAfterMs
  }
}

/** The error that a Status tells of, also as the object of a watch's ERROR frame. */
export function apiErrorOf(status: Status, retryAfterMs?: number): ApiError {
  const seconds = status.details?.retryAfterSeconds
  return new ApiError({
    code: status.code ?? 500,
    reason: status.reason ?? '',
    message: status.message ?? 'unknown',
    details: status.details,
    retryAfterMs: retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000),
  })
}

export function isNotFound(thrown: unknown): boolean {
  return has(thrown, 404, 'NotFound')
}

/** The object has changed since it was read. An object that exists already is another matter: `isAlreadyExists`. */
export function isConflict(thrown: unknown): boolean {
  return has(thrown, 409, 'Conflict')
}

export function isAlreadyExists(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.reason === 'AlreadyExists'
}

/** The asked-for version is older than what the server remembers: list again. */
export function isGone(thrown: unknown): boolean {
  return has(thrown, 410, 'Gone') || has(thrown, 410, 'Expired')
}

export function isForbidden(thrown: unknown): boolean {
  return has(thrown, 403, 'Forbidden')
}

export function isUnauthorized(thrown: unknown): boolean {
  return has(thrown, 401, 'Unauthorized')
}

export function isTooManyRequests(thrown: unknown): boolean {
  return has(thrown, 429, 'TooManyRequests')
}

export function isInvalid(thrown: unknown): boolean {
  return has(thrown, 422, 'Invalid')
}

/** No answer came: the request may or may not have been carried out. */
export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.code === 0
}

/** The reason decides where the server gave one, else the code: one code stands for several reasons. */
function has(thrown: unknown, code: number, reason: string): boolean {
  if (!(thrown instanceof ApiError)) return false
  return thrown.reason === '' ? thrown.code === code : thrown.reason === reason
}
