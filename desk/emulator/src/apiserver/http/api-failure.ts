import type { JsonMap } from '../schema/json.ts'

/** The error of one field, as `details.causes` of a Status lists it. */
export interface FieldCause {
  readonly reason: string
  readonly message: string
  readonly field: string
}

interface FailureDetails {
  readonly name?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly causes?: readonly Partial<FieldCause>[] | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** The kind of the object that a failure concerns. Its plural appears in `details` and in messages. */
export interface FailureSubject {
  readonly group: string
  readonly plural: string
  readonly kind?: string
}

/** The HTTP code of each reason of a Status. The first reason with a code is the default reason of that code. */
const CODES: Readonly<Record<string, number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  Conflict: 409,
  AlreadyExists: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
}

export function reasonOf(code: number): string {
  return Object.keys(CODES).find((reason) => CODES[reason] === code) ?? 'InternalError'
}

interface FailureOptions {
  /** The HTTP code; by default the code of the reason, or 500. */
  readonly code?: number
  readonly details?: FailureDetails | undefined
  readonly metadata?: JsonMap | undefined
  readonly plain?: boolean
}

/** An error that the server answers with a Status of failure. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly code: number
  readonly reason: string
  readonly details: FailureDetails | undefined
  /** The metadata of the Status. If a continue token has expired, the Status contains a new token. */
  readonly metadata: JsonMap
  /** True if the answer is the message as plain text, without a Status. */
  readonly plain: boolean

  /** `reason` is empty for some internal errors, as in kube-apiserver. */
  constructor(reason: string, message: string, { code, details, metadata = {}, plain = false }: FailureOptions = {}) {
    super(message)
    this.code = code ?? CODES[reason] ?? 500
    this.reason = reason
    this.details = details
    this.metadata = metadata
    this.plain = plain
  }

  status(): JsonMap {
    const { code, reason, message, metadata } = this
    const details = this.details === undefined ? {} : { details: pruned(this.details) }
    const reasonField = reason === '' ? {} : { reason }
    return { kind: 'Status', apiVersion: 'v1', metadata, status: 'Failure', message, ...reasonField, ...details, code }
  }
}

function pruned(details: FailureDetails): JsonMap {
  const { causes, ...rest } = details
  const listed = causes === undefined || causes.length === 0 ? {} : { causes: causes.map((cause) => ({ ...cause })) }
  return { ...rest, ...listed }
}

/** Returns the resource as messages show it: `persistentvolumes`, `volumeattachments.storage.k8s.io`. */
function qualified(subject: FailureSubject): string {
  return subject.group === '' ? subject.plural : `${subject.plural}.${subject.group}`
}

function failureDetails(subject: FailureSubject, name: string): { readonly details: FailureDetails } {
  return { details: { name: name || undefined, group: subject.group || undefined, kind: subject.plural } }
}

export function notFound(subject: FailureSubject, name: string): ApiFailure {
  return new ApiFailure('NotFound', `${qualified(subject)} "${name}" not found`, failureDetails(subject, name))
}

/** Returns the failure for a path that the server does not serve. */
export function noSuchPath(): ApiFailure {
  return new ApiFailure('NotFound', 'the server could not find the requested resource', { details: {} })
}

/** Returns the failure for a custom resource without its CRD. */
export function notServed(): ApiFailure {
  return new ApiFailure('NotFound', '404 page not found', { plain: true })
}

export function alreadyExists(subject: FailureSubject, name: string, deleting = false): ApiFailure {
  const moment = deleting ? 'object is being deleted: ' : ''
  const message = `${moment}${qualified(subject)} "${name}" already exists`
  return new ApiFailure('AlreadyExists', message, failureDetails(subject, name))
}

export const OBJECT_MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again'

export function conflict(subject: FailureSubject, name: string, why: string): ApiFailure {
  const message = `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${why}`
  return new ApiFailure('Conflict', message, failureDetails(subject, name))
}

export function forbidden(subject: FailureSubject, name: string, why: string): ApiFailure {
  const named = name === '' ? `${qualified(subject)} is forbidden` : `${qualified(subject)} "${name}" is forbidden`
  return new ApiFailure('Forbidden', `${named}: ${why}`, failureDetails(subject, name))
}

/** Returns the 422 error that lists the errors of all fields. */
export function invalid(subject: FailureSubject, name: string, causes: readonly FieldCause[]): ApiFailure {
  const kind = subject.kind ?? subject.plural
  const texts = [...new Set(causes.map((cause) => `${cause.field}: ${cause.message}`))]
  const all = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
  const qualifiedKind = subject.group === '' ? kind : `${kind}.${subject.group}`
  const details = { name: name || undefined, group: subject.group || undefined, kind: kind || undefined, causes }
  return new ApiFailure('Invalid', `${qualifiedKind} "${name}" is invalid: ${all}`, { details })
}

/** Returns the 422 error for a patch that cannot be applied. The message does not say why, as in kube-apiserver. */
export function unprocessable(): ApiFailure {
  return new ApiFailure('Invalid', 'the server rejected our request due to an error in our request', { details: {} })
}

export function badRequest(message: string): ApiFailure {
  return new ApiFailure('BadRequest', message)
}

export function methodNotAllowed(): ApiFailure {
  const message = 'the server does not allow this method on the requested resource'
  return new ApiFailure('MethodNotAllowed', message, { details: {} })
}

export function unsupportedMediaType(accepted: readonly string[]): ApiFailure {
  const list = accepted.join(', ')
  const message = `the body of the request was in an unknown format - accepted media types include: ${list}`
  return new ApiFailure('UnsupportedMediaType', message)
}

export function expired(message: string, metadata?: JsonMap): ApiFailure {
  return new ApiFailure('Expired', message, { metadata })
}
