import type { Line } from '@csi-sidecars/workqueue'
import type { ReadCache } from './lead.ts'
import type { Outcome } from './outcome.ts'
import type { PendingTable, Phase, Subject } from './pending.ts'
import type { Enqueuer, Source } from './sources.ts'
import type { Cause } from './waiting.ts'

/** One run over one key. */
export interface Run {
  /** Aborted when the run must end now. */
  readonly signal: AbortSignal
  /** The last run has failed, and this one tries again: what it asks of the API server until it succeeds is in no hurry. */
  readonly retrying: boolean
  /** What the key waited for when the run began: part of it may be what it goes on waiting for. */
  readonly waitedFor: readonly Cause[]
  /**
   * What the key waits for from now on; nothing, when called with none. A run that never says so and fails leaves it as
   * it was, so that a cause is not lost by a failure on the way to the decision. To be called with the decision, not
   * with the failure: what is missing may come while the steps before the failure run.
   */
  waitFor(...causes: readonly Cause[]): void
  /** Says what the run is busy with from now on. */
  enter(phase: Phase): void
  /** Says that what was due for the key is done, if the run ends well: how long it took is counted then. */
  complete(): void
}

/** What a trace of a run says of the key's object. */
export interface TraceSubject {
  /** What is done to it: `attach`. */
  readonly operation: string
  /** Names of the object and of others around it, by the attributes that they are known by in traces. */
  readonly names: Readonly<Record<string, string>>
  /** What somebody has written on the object, so that runs over it are a part of that trace. */
  readonly traceparent: string | undefined
}

/**
 * A controller as a value. `runTerm` owns its queue: what feeds it, what wakes it, what pauses it, and what becomes of a
 * key after each run.
 */
export interface Controller {
  /** The name of its queue in metrics. Queues of one name add up. */
  readonly name: string
  /** How many keys are in work at the same time. None, or less: it runs and works on nothing. */
  readonly workers: number
  readonly backoff: { readonly baseMs: number; readonly maxMs: number }
  /** The order in which keys are worked on. Left out: as they came. */
  readonly line?: Line
  /** What its decisions read: it starts when they miss nothing that an earlier leader has done. */
  readonly caches: readonly ReadCache[]
  /** What puts keys to work, begun in this order. */
  readonly sources: readonly Source[]
  /** Works on one key. Must settle soon after the signal is aborted. Whatever it throws is a failed run of this key. */
  readonly reconcile: (key: string, run: Run) => Promise<Outcome>
  /** Read at the beginning of a run, where runs are traced. */
  readonly traceSubject?: (key: string) => TraceSubject
  /** Put around each run and what follows from its outcome. Must give back that outcome. */
  readonly around?: (key: string, run: () => Promise<Outcome>) => Promise<Outcome>
  /** Told of every failed run, before the key is planned again. */
  readonly onFailure?: (key: string, cause: unknown) => void
  /** How its pending keys are told about. Left out: nobody hears of them. */
  readonly pending?: PendingTable
  /** Told when what was due for a key is done, and since when it was due: milliseconds since 1970. */
  readonly onComplete?: (key: string, subject: Subject, since: number) => void
  /** Whether its runs call the driver: no key is started while the driver is away. */
  readonly callsDriver: boolean
  /** The driver is back, and may be another one: forget what the old one has said. */
  readonly onDriverReturn?: () => void
  /** Told when its caches are ready and it begins, and when it has ended after that. */
  readonly onStart?: () => void
  readonly onEnd?: () => void
  /** Runs beside the workers until the signal ends it. */
  readonly alongside?: (queue: Enqueuer, stop: AbortSignal) => Promise<void>
}
