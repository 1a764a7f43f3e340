/** How a request ended, as far as its rate is concerned: `throttled` is a 429. */
export type FlowOutcome = 'done' | 'throttled'

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
  /** A request that was admitted at `startedAt` has ended. */
  ended(now: number, startedAt: number, outcome: FlowOutcome): void
}
