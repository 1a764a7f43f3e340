import type { Informer } from '@csi-sidecars/informer'
import type { KeyOrder } from '@csi-sidecars/workqueue'
import type { PendingTable, Subject } from './pending.ts'
import type { Enqueuer, Source } from './sources.ts'
import type { Cause } from './waiting.ts'

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

/**
 * One run over one key.
 *
 * Guarantees: a key is never in two runs at the same time. While the run uses `signal` for its calls and writes, reports
 * show its phase: the guarded clients enter `calling` and `writing` for it.
 *
 * Caveats: a change that the run has not seen starts another run, without the back-off of this run.
 */
export interface Run {
  /** Aborted when the run must end now. */
  readonly signal: AbortSignal
  /** True if the last run over the key has failed. Its requests to the API server should have low priority. */
  readonly retrying: boolean
  /** The causes that the key waited for when the run began. The key may continue to wait for some of them. */
  readonly waitedFor: readonly Cause[]
  /**
   * Sets the causes that the key waits for; without causes the key waits for nothing. A run that fails without a call
   * leaves the causes as they are. Call it with the decision, not with the failure: the missing object may come while the
   * steps before the failure run.
   */
  waitFor(...causes: readonly Cause[]): void
  /**
   * Reads the caches again. Changes that added the key before this moment need no other run. Each run begins with such a
   * read, so only a run that decides twice calls it.
   */
  observe<T>(read: () => T): T
}

/** The facts about the key's object that a trace of a run records. */
export interface TraceSubject {
  /** The operation: `attach`. */
  readonly operation: string
  /** The names of the object and of related objects, by their attributes in traces. */
  readonly names: Readonly<Record<string, string>>
  /** The annotation `traceparent` of the object: the runs over it become a part of that trace. */
  readonly traceparent: string | undefined
}

/** A cache that decisions read. */
export type ReadCache = Pick<Informer<unknown, never>, 'caughtUp'>

/**
 * A controller as a value. `runTerm` owns its queue: it feeds, wakes and pauses the keys, and acts on each outcome.
 *
 * Guarantees: `reconcile` runs for at most `workers` keys, and for each key once at a time. It starts when the caches
 * contain all writes of an earlier leader, and, with `callsDriver`, while the driver is connected.
 *
 * Caveats: the functions about a key are called often and must be cheap. They read caches and nothing else.
 *
 * Errors: an error of `reconcile` is a failed run of its key. An error of any other function ends the term.
 */
export interface Controller {
  /** The name of the queue in metrics. The numbers of queues with the same name are added. */
  readonly name: string
  /** The number of keys in work at the same time. With 0 or less no key is worked on. */
  readonly workers: number
  /** Milliseconds after the first failure of a key, and at most. The wait doubles with each failure. */
  readonly backoff: { readonly baseMs: number; readonly maxMs: number }
  /** The order of the keys. Default: first come, first served. */
  readonly order?: KeyOrder
  /** The caches that decisions read. */
  readonly caches: readonly ReadCache[]
  /** The sources of keys, started in this order. */
  readonly sources: readonly Source[]
  /** Works on one key. Must end soon after the signal is aborted. */
  readonly reconcile: (key: string, run: Run) => Promise<Outcome>
  /** Names the object of a run for its trace. Called when a traced run starts. */
  readonly traceSubject?: (key: string) => TraceSubject
  /** Wraps each run. Must return the outcome of the run. */
  readonly around?: (key: string, run: () => Promise<Outcome>) => Promise<Outcome>
  /** Called for each failed run, before the key is planned again. */
  readonly onFailure?: (key: string, cause: unknown) => void
  /** The table of reports about pending keys. Default: pending keys are not reported. */
  readonly pending?: PendingTable
  /** Called when the pending work of a key is done. `since` is when the work became due, in milliseconds since 1970. */
  readonly onComplete?: (key: string, subject: Subject, since: number) => void
  /** True: runs call the driver, so no run starts while the driver is away. */
  readonly callsDriver: boolean
  /** Called when the driver is back. It may be another driver: drop all knowledge about the old one. */
  readonly onDriverReturn?: () => void
  /** Called when the caches are ready and the controller starts. */
  readonly onStart?: () => void
  /** Called when a started controller has ended. */
  readonly onEnd?: () => void
  /** Runs in addition to the workers until the signal ends it. */
  readonly alongside?: (queue: Enqueuer, stop: AbortSignal) => Promise<void>
}
