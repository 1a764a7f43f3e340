/** The outcome of a request. `inconclusive`: it does not show whether the server has room for more requests. */
export type FlowOutcome = 'done' | 'inconclusive' | Refusal

/** A refusal with the status code 429. */
export interface Refusal {
  /** The milliseconds that the server asks the client to wait. */
  readonly retryAfterMs: number
}

/** The end of one request, from which a policy learns. */
export interface FlowEnd {
  /** The time when the request was admitted. */
  readonly startedAt: number
  readonly outcome: FlowOutcome
  /** The number of waiting requests, including this request if it was refused. */
  readonly waiting: number
}

/** The result of the end of a request. `hasRoom`: the server accepts requests again. */
export type RoomAfterEnd = 'hasRoom' | 'unknown'

/** Decides when requests may start. It reads no clock: the caller passes the time, in monotonic milliseconds. */
export interface FlowPolicy {
  /**
   * Returns 0 if one request may start now, and counts it as started. Otherwise returns the milliseconds until the next
   * call, or Infinity if a running request must end first.
   */
  admitOrWaitMs(now: number): number
  /** Like `admitOrWaitMs`, but admits a request of priority `background`: only if enough room is left for other requests. */
  admitInBackgroundOrWaitMs(now: number): number
  /** Records the end of a request. If the server then has room again, refused requests need not wait longer. */
  recordEnd(now: number, end: FlowEnd): RoomAfterEnd
}

export type FlowOptions =
  | {
      readonly kind: 'bucket'
      /** The requests a second. A negative number means no limit. */
      readonly qps: number
      readonly burst: number
      /** True if each API group has a separate bucket. */
      readonly perGroup: boolean
    }
  | { readonly kind: 'adaptive' }

const DEFAULT_QPS = 5
const DEFAULT_BURST = 10

/**
 * Returns the flow control for --kube-api-qps and --kube-api-burst. Without both flags the rate is adaptive; a single
 * missing flag has its default. As in client-go, a rate of 0 means the default rate for each API group. Throws if
 * the burst allows no requests.
 */
export function flowOptions(flags: { qps?: number | undefined; burst?: number | undefined }): FlowOptions {
  if (flags.qps === undefined && flags.burst === undefined) return { kind: 'adaptive' }
  const qps = flags.qps ?? DEFAULT_QPS
  const burst = flags.burst ?? DEFAULT_BURST
  if (qps > 0 && burst <= 0) {
    throw new Error(
      'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0',
    )
  }
  if (qps === 0) return { kind: 'bucket', qps: DEFAULT_QPS, burst: burst === 0 ? DEFAULT_BURST : burst, perGroup: true }
  return { kind: 'bucket', qps, burst, perGroup: false }
}
