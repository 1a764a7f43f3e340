/** What a reconcile came to. Only the controller turns it into a queue operation. */
export type Outcome =
  /** Nothing more to do until something changes; earlier failures are forgotten. */
  | { readonly kind: 'settled' }
  /** Failed; try again after the key's back-off. */
  | { readonly kind: 'retry'; readonly cause: unknown }
  /** Come back after `ms`, whatever the back-off says. With a cause the run has failed. */
  | { readonly kind: 'retryAfter'; readonly ms: number; readonly cause?: unknown }
  /** The world moved on while this run wrote: look again at once. */
  | { readonly kind: 'again' }
  /** Stopped on purpose, by shutdown or a lost lease; whoever leads next starts afresh. */
  | { readonly kind: 'stopped' }

export const SETTLED: Outcome = { kind: 'settled' }
export const AGAIN: Outcome = { kind: 'again' }
export const STOPPED: Outcome = { kind: 'stopped' }
