import type { Informer } from '@csi-sidecars/informer'
import type { KeyOrder } from '@csi-sidecars/workqueue'
import type { PendingTable, WorkSubject } from './pending.ts'
import type { Enqueuer, Source } from './sources.ts'
import type { WakeEvent } from './wake-event.ts'
import type { Wakers } from './wakers.ts'

/**
 * The result of a call of `reconcile` for a key.
 *
 * Guarantees: a key runs again only as its last outcome says, or if a source adds or wakes it.
 *
 * Caveats: an error that `reconcile` throws counts as `retry` with that error as its cause.
 */
export type Outcome =
  /** The key waits for a change, and its failures are forgotten. `completesWork`: the run has completed the pending work. */
  | { readonly kind: 'settled'; readonly completesWork?: true }
  /**
   * The run has failed, and the key runs again after its back-off. A pause that the API server or the driver asks for
   * replaces the back-off of this failure, within the limits of the back-off: `afterMs`, or the pause in the cause chain
   * of `cause`. 0 asks for no wait: the back-off grows, because a constant pause would repeat a lasting failure too often.
   */
  | { readonly kind: 'retry'; readonly cause: unknown; readonly afterMs?: number | undefined }
  /** The run has failed, and no retry helps. The key waits for one of the events that the run has set. */
  | { readonly kind: 'blocked'; readonly cause: unknown }
  /** The key runs again after `ms` milliseconds, regardless of its back-off. */
  | { readonly kind: 'postponed'; readonly ms: number }
  /** The state changed during the run. The key runs again at once. */
  | { readonly kind: 'again' }
  /** The object or its desired state was replaced. The key runs again at once, without its earlier failures. */
  | { readonly kind: 'superseded'; readonly cause: unknown }
  /** Shutdown or a lost lease has stopped the run. The next leader starts from the beginning. */
  | { readonly kind: 'stopped' }

export const SETTLED: Outcome = { kind: 'settled' }
/** The outcome of a run that has completed the pending work of its key. */
export const WORK_COMPLETED: Outcome = { kind: 'settled', completesWork: true }
export const AGAIN: Outcome = { kind: 'again' }
export const STOPPED: Outcome = { kind: 'stopped' }

/**
 * One call of `reconcile` for one key.
 *
 * Guarantees: a key never has two runs at the same time. Calls and writes that use `signal` set the phase of the
 * run, `calling` or `writing`, in reports.
 *
 * Caveats: a change after the run has read the caches starts another run at once, even if this run fails.
 */
export interface Run<K extends string = never> {
  /** Aborted when the run must end at once. */
  readonly signal: AbortSignal
  /** True if the last run for the key has failed. Requests to the API server should then have low priority. */
  readonly retrying: boolean
  /** The events that the key waited for when the run began. */
  readonly waitedFor: readonly WakeEvent[]
  /**
   * Replaces the events that run the key again as soon as they happen, for example the creation of a missing object. A
   * failed run without this call keeps the earlier events. Call it before the steps that may fail, so that no event
   * during these steps is missed.
   */
  readonly waitFor: (...events: readonly WakeEvent<K>[]) => void
  /** Drops the events that the key waits for, even if the run then fails. */
  readonly stopWaiting: () => void
  /**
   * Calls `read`, which reads the caches again. Changes up to this call then cause no further run of the key. Without
   * the call, every change since the start of the run causes a further run.
   */
  observe<T>(read: () => T): T
}

/** The attributes that the trace of a run records about its object. */
export interface TraceSubject {
  /** The name of the operation, for example `attach`. */
  readonly operation: string
  /** The names of the object and of related objects, by trace attribute. */
  readonly names: Readonly<Record<string, string>>
  /** The annotation `traceparent` of the object. Its runs join that trace. */
  readonly traceparent: string | undefined
}

/** A cache that `reconcile` reads. */
export type ReadCache = Pick<Informer<unknown, never>, 'ensureListedSince'>

/**
 * A description of a controller, which `runTerm` runs: it fills the queue from the sources, and acts on each outcome.
 *
 * Guarantees: `reconcile` runs for at most `workers` keys, and never twice at once for one key. It starts when the
 * caches contain all writes of an earlier leader, and, with `callsDriver`, while the driver is connected.
 *
 * Caveats: `traceSubject` and `pending` are used often, so they must be cheap. They may only read caches.
 *
 * Errors: an error of `reconcile` is a failed run of its key. An error of any other function ends all controllers.
 */
export interface Controller<K extends string = never> {
  /** The name of the queue in metrics. Queues may share a name. */
  readonly name: string
  /** The largest number of keys that run at the same time. With 0 or less no key runs. */
  readonly workers: number
  /** The wait after the first failure of a key and the longest wait, in milliseconds. It doubles with each failure. */
  readonly backoff: { readonly baseMs: number; readonly maxMs: number }
  /** The order in which waiting keys run. Default: first come, first served. */
  readonly order?: KeyOrder
  /** The caches that `reconcile` reads. The controller starts when they are up to date. */
  readonly caches: readonly ReadCache[]
  /** The sources that add keys, started in this order. */
  readonly sources: readonly Source<K>[]
  /** The events that keys wait for. Their sources start after `sources`. Without such events it is empty. */
  readonly wakers: Wakers<K>
  /** Brings the object of the key closer to its desired state. Must end soon after `run.signal` is aborted. */
  readonly reconcile: (key: string, run: Run<K>) => Promise<Outcome>
  /** Returns the trace attributes of a run. Called for traced runs only. */
  readonly traceSubject?: (key: string) => TraceSubject
  /** Wraps each run. Must return the outcome of the run. */
  readonly wrapRun?: (key: string, run: () => Promise<Outcome>) => Promise<Outcome>
  /** Called for each failed run, before the next run of the key is planned. */
  readonly onFailure?: (key: string, cause: unknown) => void
  /** Describes pending keys for reports and metrics. Default: pending keys are not reported. */
  readonly pending?: PendingTable
  /** Called when the pending work of a key is done. `since` is when the work became due, in milliseconds since 1970. */
  readonly onComplete?: (key: string, subject: WorkSubject, since: number) => void
  /** True: runs call the driver, so no run starts while the driver is disconnected. */
  readonly callsDriver: boolean
  /** Called when the driver is connected again. It may have changed, so drop everything remembered about it. */
  readonly onDriverReturn?: () => void
  /** Called when the caches are ready and the controller starts. */
  readonly onStart?: () => void
  /** Called at the end of a controller that has started. */
  readonly onEnd?: () => void
  /** A task that runs next to the workers until `stop` is aborted. */
  readonly alongside?: (queue: Enqueuer<K>, stop: AbortSignal) => Promise<void>
}

/** A controller whose keys may wait for events of any kind. Each `Controller` is one. */
export type AnyController = Controller<string>
