import { errorChain, messageOf } from '@csi-sidecars/base'
import { RpcError } from '@csi-sidecars/csi'
import { ApiError, isOutdated } from '@csi-sidecars/kube-client'
import type { Logger, Verbose } from '@csi-sidecars/telemetry'
import { API_REFUSALS, DRIVER_REFUSALS, type RefusalReason } from '@csi-sidecars/waits'

/** The reason why a run has failed, for reports about pending work. */
export interface RunFailure {
  /** Undefined if neither the driver nor the API server refused the work. */
  readonly reason: RefusalReason | undefined
  readonly code: string | undefined
  readonly message: string
}

/** The longest message in a report, in characters. The status of the object and the log have the whole message. */
const MAX_MESSAGE_LENGTH = 512

/** Returns the message of an error. The reason and the code come from the driver or API error in its cause chain. */
export function failureOf(thrown: unknown): RunFailure {
  const text = messageOf(thrown)
  const message = text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH - 3)}...` : text
  for (const cause of errorChain(thrown)) {
    if (cause instanceof RpcError) {
      const { codeName } = cause
      return { reason: DRIVER_REFUSALS.find((each) => each === codeName) ?? 'Unknown', code: codeName, message }
    }
    if (cause instanceof ApiError) return { ...apiReason(cause), message }
  }
  return { reason: undefined, code: undefined, message }
}

function apiReason({ code, reason, details }: ApiError): Pick<RunFailure, 'reason' | 'code'> {
  if (code === 0) return { reason: 'APIUnreachable', code: undefined }
  const refusal = API_REFUSALS.find((each) => each === reason) ?? 'Refused'
  const subject = details?.kind === 'secrets' ? 'Secret' : 'API'
  return { reason: `${subject}${refusal}`, code: reason || String(code) }
}

/**
 * Returns how many milliseconds the driver or the API server asks to wait, according to the first answer in the cause
 * chain of the error.
 */
export function requestedPauseMs(thrown: unknown): number | undefined {
  for (const cause of errorChain(thrown)) {
    if (cause instanceof RpcError || cause instanceof ApiError) return cause.retryAfterMs
  }
  return undefined
}

/** The level of the lines about writes that another client has made outdated. */
const OUTDATED_LEVEL = 3

/**
 * Returns the log for the error line of a failed run or write. A write that another client has made outdated is normal
 * work: the next run repeats it from the newest object, so its line is an info line of level 3. Undefined if that level
 * is off.
 */
export function failureLog(thrown: unknown, log: Logger): Pick<Verbose, 'error'> | undefined {
  for (const cause of errorChain(thrown)) {
    if (isOutdated(cause)) return log.v(OUTDATED_LEVEL)
  }
  return log
}
