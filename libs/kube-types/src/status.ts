/** The API server's own account of a request that it did not answer with an object. */
export interface Status {
  readonly kind: 'Status'
  readonly apiVersion?: string | undefined
  readonly metadata?: { readonly continue?: string | undefined; readonly resourceVersion?: string | undefined }
  readonly status?: 'Success' | 'Failure' | undefined
  /** The HTTP status code. */
  readonly code?: number | undefined
  /** One word a program may act on, as `NotFound`. */
  readonly reason?: string | undefined
  /** Words for people. */
  readonly message?: string | undefined
  readonly details?: StatusDetails | undefined
}

export interface StatusDetails {
  readonly name?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly causes?: readonly StatusCause[] | undefined
  readonly retryAfterSeconds?: number | undefined
}

export interface StatusCause {
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly field?: string | undefined
}

/** Whether a decoded answer is a Status rather than the object that was asked for. */
export function isStatus(answer: unknown): answer is Status {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'Status'
}
