import { CancelledError, messageOf, toError } from '@csi-sidecars/base'
import { exchangeError, type ResponseHead } from '@csi-sidecars/http1'
import { ApiError } from '../api/api-error.ts'
import type { ApiRequest } from '../api/client.ts'
import type { Authorization } from '../config/cluster-config.ts'
import type { RequestLane } from './lane.ts'

/** The answer of the server, a success or a refusal. */
export interface ApiAnswer {
  readonly status: number
  readonly body: Buffer
  /** The media type. Absent for a success whose request accepts only one type. */
  readonly contentType: string | undefined
  readonly retryAfterMs: number | undefined
}

/** One call and the state of its attempts. */
export class ApiCall {
  readonly request: ApiRequest
  readonly lane: RequestLane
  authorization: Authorization
  attempts = 0
  /** The number of refusals with a retry, and the time of the first. */
  refusals = 0
  refusedAt: number | undefined
  /** The time that the server asks the call to wait before its next attempt. */
  waitBeforeRetryMs: number | undefined
  hasReconnected = false
  hasReauthorized = false
  /** The header `traceparent`, which makes the spans of the server children of the call. */
  traceparent: string | undefined

  constructor(request: ApiRequest, lane: RequestLane) {
    this.request = request
    this.lane = lane
  }

  get signal(): AbortSignal | undefined {
    return this.request.options?.signal
  }

  get isWrite(): boolean {
    return this.request.method !== 'GET'
  }
}

/** The wait after a 429 without a Retry-After. */
const DEFAULT_RETRY_AFTER_MS = 1000

export function answerOf({ accept }: ApiRequest, head: ResponseHead, body: Buffer): ApiAnswer {
  return {
    status: head.status,
    body,
    contentType: head.status < 300 && accept === undefined ? undefined : head.header('content-type'),
    retryAfterMs: retryAfterMs(head.status, () => head.header('retry-after')),
  }
}

/** Returns the wait that the server asks for. Undefined if the transport must not retry. */
function retryAfterMs(status: number, header: () => string | undefined): number | undefined {
  if (status !== 429 && status < 500) return undefined
  const seconds = header()
  if (seconds !== undefined && /^\d{1,9}$/.test(seconds)) return Number(seconds) * 1000
  return status === 429 ? DEFAULT_RETRY_AFTER_MS : undefined
}

/**
 * Returns the error of a call without an answer: `Get "https://10.0.0.1:443/api/v1/pods": dial tcp 10.0.0.1:443:
 * connect: connection refused`. If the signal or `close` ended the call, returns their reason. `sent` is true if the
 * server may have received bytes.
 */
export function unansweredError(
  call: ApiCall,
  thrown: unknown,
  { origin, sent = false }: { readonly origin: string; readonly sent?: boolean },
): unknown {
  const { request, signal } = call
  if (signal?.aborted) return signal.reason
  if (thrown instanceof CancelledError) return thrown
  const verb = request.method.charAt(0) + request.method.slice(1).toLowerCase()
  const cause = exchangeError(toError(thrown))
  const message = `${verb} "${origin}${request.path}": ${messageOf(cause)}`
  return new ApiError({ code: 0, reason: '', message, cause, outcomeUnknown: sent && call.isWrite })
}
