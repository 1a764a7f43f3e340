/** The result of a run over a key. Only the schedule turns it into a queue operation. */
export type Outcome =
  /** Nothing more to do until something changes; earlier failures are forgotten. */
  | { readonly kind: 'settled' }
  /**
   * Failed; try again after the key's back-off. `afterMs` is a wait that the API server or the driver asks for: it
   * replaces the back-off within its first and its longest wait, and the back-off stays as it is.
   */
  | { readonly kind: 'retry'; readonly cause: unknown; readonly afterMs?: number | undefined }
  /** Failed, and no retry helps: the key waits for one of the causes that the run has named. */
  | { readonly kind: 'blocked'; readonly cause: unknown }
  /** Not now: run again after `ms`, whatever the back-off says. */
  | { readonly kind: 'postponed'; readonly ms: number }
  /** The state changed during the run: run again at once. */
  | { readonly kind: 'again' }
  /** Failed for an object or a request that has been replaced: run again at once, with the failures forgotten. */
  | { readonly kind: 'superseded'; readonly cause: unknown }
  /** Stopped by shutdown or a lost lease; the next leader starts from the beginning. */
  | { readonly kind: 'stopped' }

export const SETTLED: Outcome = { kind: 'settled' }
export const AGAIN: Outcome = { kind: 'again' }
export const STOPPED: Outcome = { kind: 'stopped' }
