/**
 * The result of a run over a key. Only the schedule turns it into a queue operation.
 *
 * Guarantees: the queue runs a key again only as its last outcome says, or if a source adds the key.
 *
 * Caveats: an error that `reconcile` throws counts as `retry` with that error as its cause.
 */
export type Outcome =
  /** Nothing is left to do until something changes. Earlier failures are forgotten. `done`: the pending work is done, and its duration counts. */
  | { readonly kind: 'settled'; readonly done?: true }
  /**
   * The run has failed; the key runs again after its back-off. `afterMs`: milliseconds that the API server or the driver
   * asks for. They replace the back-off between its first and its longest value; the back-off itself does not change.
   */
  | { readonly kind: 'retry'; readonly cause: unknown; readonly afterMs?: number | undefined }
  /** The run has failed, and no retry helps. The key waits for one of the causes that the run has named. */
  | { readonly kind: 'blocked'; readonly cause: unknown }
  /** The key runs again after `ms` milliseconds, whatever its back-off is. */
  | { readonly kind: 'postponed'; readonly ms: number }
  /** The state changed during the run. The key runs again at once. */
  | { readonly kind: 'again' }
  /** The object or the request was replaced during the run. The key runs again at once, and the failures are forgotten. */
  | { readonly kind: 'superseded'; readonly cause: unknown }
  /** Shutdown or a lost lease has stopped the run. The next leader starts from the beginning. */
  | { readonly kind: 'stopped' }

export const SETTLED: Outcome = { kind: 'settled' }
/** Settled, and the pending work of the key is done. */
export const DONE: Outcome = { kind: 'settled', done: true }
export const AGAIN: Outcome = { kind: 'again' }
export const STOPPED: Outcome = { kind: 'stopped' }
