import { causesOf, messageOf } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'

/** The reason why a run has failed, for reports. */
export interface RunFailure {
  /** One of a small set. Undefined: neither the driver nor the API server has refused anything. */
  readonly reason: string | undefined
  readonly code: string | undefined
  readonly message: string
}

/** The longest message that is kept, in characters. The object's status and the log have the whole message. */
const LONGEST_MESSAGE = 512

/** The reasons of the API server that count as such in metrics; webhooks may invent others. */
const API_REASONS: ReadonlySet<string> = new Set([
  'AlreadyExists',
  'BadRequest',
  'Conflict',
  'Forbidden',
  'Invalid',
  'NotFound',
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
  'Unauthorized',
])

/** Returns the reason by the answer of the driver or the API server, wherever the answer is in the cause chain. */
export function failureOf(thrown: unknown): RunFailure {
  const text = messageOf(thrown)
  const message = text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 3)}...` : text
  for (const cause of causesOf(thrown)) {
    if (cause instanceof RpcError) {
      const { codeName } = cause
      return { reason: Object.hasOwn(CODES, codeName) ? codeName : 'Unknown', code: codeName, message }
    }
    if (cause instanceof ApiError) return { ...apiReason(cause), message }
  }
  return { reason: undefined, code: undefined, message }
}

function apiReason({ code, reason, details }: ApiError): Pick<RunFailure, 'reason' | 'code'> {
  if (code === 0) return { reason: 'APIUnreachable', code: undefined }
  const known = API_REASONS.has(reason) ? reason : 'Refused'
  const subject = details?.kind === 'secrets' ? 'Secret' : 'API'
  return { reason: `${subject}${known}`, code: reason || String(code) }
}

/** Returns how long the API server asks to wait, wherever its answer is in the cause chain. */
export function serverWaitOf(thrown: unknown): number | undefined {
  for (const cause of causesOf(thrown)) if (cause instanceof ApiError) return cause.retryAfterMs
  return undefined
}
