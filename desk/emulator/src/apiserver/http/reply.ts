import type { JsonMap } from '../schema/json.ts'
import { ApiFailure, reasonOf } from './api-failure.ts'
import type { HttpResponse } from './exchange.ts'

/** A complete answer to a request. */
export interface HttpReply {
  readonly code: number
  readonly text: string | Uint8Array
  readonly contentType?: string
  readonly warnings?: readonly string[]
}

/** Encodes a Status as JSON or protobuf. */
export type StatusForm = (status: JsonMap) => Pick<HttpReply, 'text' | 'contentType'>

export function send(response: HttpResponse, reply: HttpReply): void {
  const { code, text, contentType = 'application/json', warnings = [] } = reply
  if (warnings.length > 0) {
    response.setHeader(
      'warning',
      warnings.map((each) => `299 - ${JSON.stringify(each)}`),
    )
  }
  // The body is a text and not bytes, because Node sends a text in one write with the headers.
  response.writeHead(code, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

/** Answers a request with a Status of failure. If an answer has already begun, it closes the connection instead. */
export function refuse(response: HttpResponse, failure: ApiFailure, form: StatusForm = asJson): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const { retryAfterSeconds } = failure.details ?? {}
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds))
  // The connection cannot be reused, because the server has not read the rest of the body.
  if (failure.code === 413) response.setHeader('connection', 'close')
  const plain = { text: `${failure.message}\n`, contentType: 'text/plain; charset=utf-8' }
  send(response, { code: failure.code, ...(failure.plain ? plain : form(failure.status())) })
}

const asJson: StatusForm = (status) => ({ text: JSON.stringify(status) })

/** Returns the failure that an injected fault sends as the answer. */
export function injected(fault: {
  readonly code: number
  readonly reason?: string
  readonly message?: string
  readonly retryAfterSeconds?: number
}): ApiFailure {
  const { code, retryAfterSeconds } = fault
  const reason = fault.reason ?? reasonOf(code)
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds }
  return new ApiFailure(reason, fault.message ?? `injected ${reason}`, { code, details })
}
