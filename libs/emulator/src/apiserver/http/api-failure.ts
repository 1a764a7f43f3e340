import type { JsonObject } from '../schema/json.ts'

/** One field that is wrong, as it appears under `details.causes`. */
export interface Cause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

interface FailureDetails {
  readonly name?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly causes?: readonly Partial<Cause>[] | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** The kind an answer is about, as `details` and messages name it: the plural. */
export interface Subject {
  readonly group: string
  readonly plural: string
  readonly kind?: string
}

interface FailureParts {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details?: FailureDetails | undefined
  readonly metadata?: JsonObject | undefined
}

/** A request that ends with a Status of failure. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly code: number
  readonly reason: string
  readonly details: FailureDetails | undefined
  /** The list metadata of an expired continue token carries a fresh one. */
  readonly metadata: JsonObject

  constructor({ code, reason, message, details, metadata = {} }: FailureParts) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
    this.metadata = metadata
  }

  status(): JsonObject {
    const { code, reason, message, metadata } = this
    const details = this.details === undefined ? {} : { details: pruned(this.details) }
    const said = reason === '' ? {} : { reason }
    return { kind: 'Status', apiVersion: 'v1', metadata, status: 'Failure', message, ...said, ...details, code }
  }
}

function pruned(details: FailureDetails): JsonObject {
  const { causes, ...rest } = details
  const listed = causes === undefined || causes.length === 0 ? {} : { causes: causes.map((cause) => ({ ...cause })) }
  return { ...rest, ...listed }
}

/** `persistentvolumes`, `volumeattachments.storage.k8s.io`: how messages name a kind. */
function qualified(subject: Subject): string {
  return subject.group === '' ? subject.plural : `${subject.plural}.${subject.group}`
}

function about(subject: Subject, name: string): FailureDetails {
  return { name: name || undefined, group: subject.group || undefined, kind: subject.plural }
}

export function notFound(subject: Subject, name: string): ApiFailure {
  const details = about(subject, name)
  return new ApiFailure({
    code: 404,
    reason: 'NotFound',
    message: `${qualified(subject)} "${name}" not found`,
    details,
  })
}

/** What the server says of paths that it does not serve. */
export function noSuchPath(): ApiFailure {
  return new ApiFailure({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  })
}

export function alreadyExists(subject: Subject, name: string, deleting = false): ApiFailure {
  const details = about(subject, name)
  const moment = deleting ? 'object is being deleted: ' : ''
  return new ApiFailure({
    code: 409,
    reason: 'AlreadyExists',
    message: `${moment}${qualified(subject)} "${name}" already exists`,
    details,
  })
}

export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again'

export function conflict(subject: Subject, name: string, why: string): ApiFailure {
  const message = `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${why}`
  return new ApiFailure({ code: 409, reason: 'Conflict', message, details: about(subject, name) })
}

export function forbidden(subject: Subject, name: string, why: string): ApiFailure {
  const named = name === '' ? `${qualified(subject)} is forbidden` : `${qualified(subject)} "${name}" is forbidden`
  return new ApiFailure({ code: 403, reason: 'Forbidden', message: `${named}: ${why}`, details: about(subject, name) })
}

/** 422 with every field that is wrong. */
export function invalid(subject: Subject, name: string, causes: readonly Cause[]): ApiFailure {
  const kind = subject.kind ?? subject.plural
  const texts = [...new Set(causes.map((cause) => `${cause.field}: ${cause.message}`))]
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
  const qualifiedKind = subject.group === '' ? kind : `${kind}.${subject.group}`
  const details = { name: name || undefined, group: subject.group || undefined, kind: kind || undefined, causes }
  return new ApiFailure({
    code: 422,
    reason: 'Invalid',
    message: `${qualifiedKind} "${name}" is invalid: ${all}`,
    details,
  })
}

/** 422 without a field: a patch that cannot be applied. Says nothing of the cause, as the real server. */
export function unprocessable(): ApiFailure {
  const message = 'the server rejected our request due to an error in our request'
  return new ApiFailure({ code: 422, reason: 'Invalid', message, details: {} })
}

export function badRequest(message: string): ApiFailure {
  return new ApiFailure({ code: 400, reason: 'BadRequest', message })
}

export function unauthorized(): ApiFailure {
  return new ApiFailure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' })
}

export function methodNotAllowed(): ApiFailure {
  const message = 'the server does not allow this method on the requested resource'
  return new ApiFailure({ code: 405, reason: 'MethodNotAllowed', message, details: {} })
}

export function unsupportedMediaType(accepted: readonly string[]): ApiFailure {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`
  return new ApiFailure({ code: 415, reason: 'UnsupportedMediaType', message })
}

export function bodyTooLarge(limit: number): ApiFailure {
  return new ApiFailure({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: limit is ${limit}`,
  })
}

export function expired(message: string, metadata: JsonObject = {}): ApiFailure {
  return new ApiFailure({ code: 410, reason: 'Expired', message, metadata })
}
