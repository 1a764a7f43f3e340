import { type Resource, type Status, statusOf } from '@csi-sidecars/kube-types'
import { ApiError, apiErrorOf, UNPROCESSABLE } from '../api/api-error.ts'
import type { HttpMethod } from '../api/client.ts'
import { isProtobuf, spanOf, statusIn } from './protobuf.ts'

/** An answer with a status of 400 or higher. */
export interface RefusedReply {
  readonly status: number
  readonly contentType: string | undefined
  readonly retryAfterMs: number | undefined
  readonly body: Buffer
}

/** The request that was refused, for the text of the error. */
export interface RefusedRequest {
  readonly method: HttpMethod
  readonly resource?: Resource<unknown> | undefined
  readonly name?: string | undefined
}

/** Returns the error of a refusal: the Status of the server, or the text of client-go for the status code. */
export function errorOfReply(reply: RefusedReply, request: RefusedRequest): ApiError {
  const { retryAfterMs } = reply
  // A 504 says that the server no longer waits for its storage, which may still carry out the write.
  const outcomeUnknown = reply.status === 504 && request.method !== 'GET'
  const status = statusWithMessage(reply)
  if (status !== undefined) {
    return apiErrorOf({ ...status, code: status.code ?? reply.status }, { retryAfterMs, outcomeUnknown })
  }
  const { reason, message } = genericReason(reply, request.method)
  return new ApiError({
    code: reply.status,
    reason,
    message: `${message}${objectText(request)}`,
    retryAfterMs,
    outcomeUnknown,
  })
}

function statusWithMessage({ body, contentType }: RefusedReply): Status | undefined {
  try {
    const status = isProtobuf(contentType) ? statusIn(spanOf(body)) : statusOf(JSON.parse(body.toString('utf8')))
    return status?.message === undefined ? undefined : status
  } catch {
    // The body is not a Status: a proxy or a load balancer refuses in text or HTML.
    return undefined
  }
}

const MAX_TEXT_LENGTH = 2048

function genericReason(reply: RefusedReply, method: HttpMethod): { reason: string; message: string } {
  const text = /^(?:text\/|$)/.test(reply.contentType ?? '')
    ? reply.body.toString('utf8').slice(0, MAX_TEXT_LENGTH).trim()
    : 'unknown'
  const standard = STANDARD_REASONS[reply.status]
  if (standard !== undefined) return { reason: standard[0], message: standard[1] ?? text }
  if (reply.status === 409) {
    return { reason: method === 'POST' ? 'AlreadyExists' : 'Conflict', message: 'the server reported a conflict' }
  }
  if (reply.status >= 500) {
    const message = `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
    return { reason: 'InternalError', message }
  }
  const message = `the server responded with the status code ${reply.status} but did not return more information`
  return { reason: 'Unknown', message }
}

/** The reason and the message for a status code. If a message is missing here, the text of the server is used. */
const STANDARD_REASONS: Readonly<Record<number, readonly [reason: string, message?: string]>> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  403: ['Forbidden'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  406: ['NotAcceptable'],
  415: ['UnsupportedMediaType'],
  422: ['Invalid', UNPROCESSABLE],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: [
    'Timeout',
    'the server was unable to return a response in the time allotted, but may still be processing the request',
  ],
}

function objectText({ method, resource, name }: RefusedRequest): string {
  if (resource === undefined) return ''
  const qualified = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`
  return ` (${method.toLowerCase()} ${qualified}${name === undefined ? '' : ` ${name}`})`
}
