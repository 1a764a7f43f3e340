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
  /** How many wait, this one included if it was refused. */
  readonly waiting: number
}

/**
 * Decides when requests may start. Pure: time comes in as an argument, and nothing waits here.
 * All times are in milliseconds of one monotonic clock.
 */
export interface FlowPolicy {
  /**
   * 0 lets one request start now, and counts it as started. Otherwise the milliseconds until it is worth asking
   * again; Infinity when only the end of a running request helps.
   */
  admit(now: number): number
  /** The same for a request that must not be missed by others: enough is left for them. */
  admitSpare(now: number): number
  /** A request has ended. Returns whether those that were refused need not wait any longer: the server has room again. */
  ended(now: number, end: FlowEnd): boolean
}
