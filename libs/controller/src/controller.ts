import type { KeyOrder } from '@csi-sidecars/workqueue'
import type { ReadCache } from './lead.ts'
import type { Outcome } from './outcome.ts'
import type { PendingTable, Subject } from './pending.ts'
import type { Enqueuer, Source } from './sources.ts'
import type { Cause } from './waiting.ts'

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

/** What a trace of a run records about the key's object. */
export interface TraceSubject {
  /** The operation: `attach`. */
  readonly operation: string
  /** The names of the object and of related ones, by their attributes in traces. */
  readonly names: Readonly<Record<string, string>>
  /** From the object, where a user wants the runs over it to be a part of that trace. */
  readonly traceparent: string | undefined
}

/**
 * A controller as a value. `runTerm` owns its queue: what feeds, wakes and pauses it, and what follows from each run.
 */
export interface Controller {
  /** The name of its queue in metrics. Queues of one name add up. */
  readonly name: string
  /** How many keys are in work at the same time. With 0 or less it runs and works on no key. */
  readonly workers: number
  readonly backoff: { readonly baseMs: number; readonly maxMs: number }
  /** The order in which keys are worked on. Left out: first come, first served. */
  readonly order?: KeyOrder
  /** What its decisions read: it starts when these contain everything that an earlier leader has done. */
  readonly caches: readonly ReadCache[]
  /** What adds keys, started in this order. */
  readonly sources: readonly Source[]
  /** Works on one key. Must end soon after the signal is aborted. Whatever it throws is a failed run of this key. */
  readonly reconcile: (key: string, run: Run) => Promise<Outcome>
  /** Read at the start of a run, where runs are traced. */
  readonly traceSubject?: (key: string) => TraceSubject
  /** Wraps each run and what follows from its outcome. Must return that outcome. */
  readonly around?: (key: string, run: () => Promise<Outcome>) => Promise<Outcome>
  /** Called for every failed run, before the key is planned again. */
  readonly onFailure?: (key: string, cause: unknown) => void
  /** How its pending keys are reported. Left out: they are not. */
  readonly pending?: PendingTable
  /** Called when what was due for a key is done, with the time since when it was due: milliseconds since 1970. */
  readonly onComplete?: (key: string, subject: Subject, since: number) => void
  /** Whether its runs call the driver: no key is started while the driver is away. */
  readonly callsDriver: boolean
  /** The driver is back, and may be another one: forget what is known from the old one. */
  readonly onDriverReturn?: () => void
  /** Called when its caches are ready and it starts, and when it has ended after that. */
  readonly onStart?: () => void
  readonly onEnd?: () => void
  /** Runs beside the workers until the signal ends it. */
  readonly alongside?: (queue: Enqueuer, stop: AbortSignal) => Promise<void>
}
