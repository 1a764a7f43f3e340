/** What a run over a key came to. Only the controller turns it into a queue operation. */
export type Outcome =
  /** Nothing more to do until something changes; earlier failures are forgotten. */
  | { readonly kind: 'settled' }
  /**
   * Failed; try again after the key's back-off. With `afterMs` somebody else has said when: that wait is taken in its
   * place, but never less than the first back-off nor more than the longest, and the back-off stays as it is.
   */
  | { readonly kind: 'retry'; readonly cause: unknown; readonly afterMs?: number | undefined }
  /** Failed, and no retry helps: nothing is done before one of the causes comes that the run has named. */
  | { readonly kind: 'blocked'; readonly cause: unknown }
  /** Not now: come back after `ms`, whatever the back-off says. */
  | { readonly kind: 'postponed'; readonly ms: number }
  /**
   * The world moved on while this run wrote: look again at once. With a cause the run has failed, for what is gone or is
   * wanted no more; what is wanted now starts without failures.
   */
  | { readonly kind: 'again'; readonly cause?: unknown }
  /** Stopped on purpose, by shutdown or a lost lease; whoever leads next starts from the beginning. */
  | { readonly kind: 'stopped' }

export const SETTLED: Outcome = { kind: 'settled' }
export const AGAIN: Outcome = { kind: 'again' }
export const STOPPED: Outcome = { kind: 'stopped' }
