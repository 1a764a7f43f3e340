/** How a request ended, as far as its rate is concerned. 'ignored': it says nothing about the room for others. */
export type FlowOutcome = 'done' | 'ignored' | Refusal

/** A 429. */
export interface Refusal {
  /** How long the server asks to wait. */
  readonly retryAfterMs: number
}

/** A request that has ended. */
export interface FlowEnd {
  /** When it was admitted. */
  readonly startedAt: number
  readonly outcome: FlowOutcome
  /** The number of waiting requests, including this request if it was refused. */
  readonly waiting: number
}

/** Decides when requests may start. It is pure: the time is an argument, in milliseconds of a monotonic clock. */
export interface FlowPolicy {
  /**
   * Returns 0 if one request may start now, and counts it as started. Otherwise returns the milliseconds until the next
   * question, or Infinity if a running request must end first.
   */
  admit(now: number): number
  /** Like `admit`, but admits a request only if enough room is left for other requests. */
  admitSpare(now: number): number
  /**
   * Records the end of a request. Returns true if the server has room again, so that refused requests need not wait
   * longer.
   */
  ended(now: number, end: FlowEnd): boolean
}
