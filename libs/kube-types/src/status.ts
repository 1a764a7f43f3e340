import { fieldOf, isJsonObject, type JsonObject, wholeNumberOf } from './meta.ts'

/** An answer of the API server that is not the requested object, for example a refusal. */
export interface Status {
  readonly kind: 'Status'
  /** The HTTP status code. */
  readonly code?: number | undefined
  /** The reason for programs, for example `NotFound`. */
  readonly reason?: string | undefined
  /** The message for people. */
  readonly message?: string | undefined
  readonly details?: StatusDetails | undefined
}

/** The details of a refusal by the API server. All fields may be missing. */
export interface StatusDetails {
  readonly name?: string | undefined
  readonly group?: string | undefined
  readonly kind?: string | undefined
  readonly uid?: string | undefined
  readonly causes?: readonly StatusCause[] | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** One reason of a refusal, such as one invalid field. */
export interface StatusCause {
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly field?: string | undefined
}

/** Returns a decoded answer as a Status, or undefined for another object. Leaves out fields of a wrong type. */
export function statusOf(answer: unknown): Status | undefined {
  if (!isJsonObject(answer) || fieldOf(answer, 'kind') !== 'Status') return undefined
  const details = fieldOf(answer, 'details')
  return {
    kind: 'Status',
    code: wholeNumberOf(fieldOf(answer, 'code')),
    reason: textIn(answer, 'reason'),
    message: textIn(answer, 'message'),
    details: isJsonObject(details) ? detailsOf(details) : undefined,
  }
}

function detailsOf(details: JsonObject): StatusDetails {
  const causes = fieldOf(details, 'causes')
  return {
    name: textIn(details, 'name'),
    group: textIn(details, 'group'),
    kind: textIn(details, 'kind'),
    uid: textIn(details, 'uid'),
    causes: Array.isArray(causes) ? causes.filter(isJsonObject).map(causeOf) : undefined,
    retryAfterSeconds: wholeNumberOf(fieldOf(details, 'retryAfterSeconds')),
  }
}

function causeOf(cause: JsonObject): StatusCause {
  return { reason: textIn(cause, 'reason'), message: textIn(cause, 'message'), field: textIn(cause, 'field') }
}

function textIn(object: JsonObject, name: string): string | undefined {
  const value = fieldOf(object, name)
  return typeof value === 'string' ? value : undefined
}
