import { aborted, isAbort, onPhase, scope } from '@csi-sidecars/base'
import type { KeyPriority, WorkQueue } from '@csi-sidecars/workqueue'
import { type AnyController, type Outcome, type Run, STOPPED } from './controller.ts'
import { type ActiveRun, KeyRecords, type KeyRecordsOptions } from './key-records.ts'
import type { PendingWork } from './pending.ts'
import { type FollowedDriver, Schedule } from './schedule.ts'
import type { Enqueuer } from './sources.ts'
import type { WaitListener } from './waiting.ts'
import type { WakeEvent } from './wake-event.ts'

/** A run that has not ended. */
interface Active extends Run<string>, ActiveRun {
  /** True once the run has called `waitFor` or `stopWaiting`. */
  hasSetEvents: boolean
  /** The number of reconnects of the driver when the run began. */
  readonly driverReturns: number
}

/** The workers of one controller while this process leads. */
export class Runner implements Enqueuer<string> {
  readonly #controller: AnyController
  readonly #schedule: Schedule
  readonly #records: KeyRecords

  constructor(controller: AnyController, queue: WorkQueue, options: KeyRecordsOptions) {
    this.#controller = controller
    this.#schedule = new Schedule(queue, controller.backoff)
    this.#records = new KeyRecords(controller, options)
  }

  add(key: string, priority?: KeyPriority): void {
    this.#records.getOrCreate(key)
    this.#schedule.add(key, priority)
  }

  forgetHistory(key: string): void {
    this.#records.reset(key)
    this.#schedule.resetBackoff(key)
  }

  resetBackoff(key: string): void {
    this.#schedule.resetBackoff(key)
  }

  wake(event: WakeEvent): void {
    this.#schedule.wake(event)
  }

  forget(key: string): void {
    this.#schedule.forget(key)
    this.#records.delete(key)
    if (this.#schedule.hasPendingRun(key)) this.#records.getOrCreate(key)
  }

  isInWork(key: string): boolean {
    return this.#schedule.isInWork(key)
  }

  keysWaitingFor(event: WakeEvent): ReadonlySet<string> {
    return this.#schedule.keysWaitingFor(event)
  }

  onWait(listener: WaitListener): () => void {
    return this.#schedule.onWait(listener)
  }

  pending(): Iterable<PendingWork> {
    return this.#records.pending((key) => this.#schedule.positionOf(key))
  }

  follow(driver: FollowedDriver): () => void {
    return this.#schedule.follow(driver, () => this.#controller.onDriverReturn?.())
  }

  /**
   * Runs keys until `stop` is aborted, and resolves when the running keys have ended. To cancel the running keys, abort
   * `cancelRuns` too.
   */
  async work(stop: AbortSignal, cancelRuns: AbortSignal): Promise<void> {
    const { workers } = this.#controller
    if (workers <= 0) await aborted(stop)
    else await Promise.all(Array.from({ length: workers }, () => this.#worker(stop, cancelRuns)))
  }

  async #worker(stop: AbortSignal, cancelRuns: AbortSignal): Promise<void> {
    // Each worker has its own signal, because `onPhase` finds its run by the signal.
    using life = scope(cancelRuns)
    const cancelRun = life.signal
    for (;;) {
      const key = await this.#schedule.next(stop)
      if (key === undefined) return
      const { wrapRun } = this.#controller
      if (wrapRun === undefined) await this.#run(key, cancelRun)
      else await wrapRun(key, () => this.#run(key, cancelRun))
      this.#schedule.endRun(key)
      if (!this.#schedule.hasPendingRun(key)) this.#records.delete(key)
    }
  }

  async #run(key: string, cancelRun: AbortSignal): Promise<Outcome> {
    const run = this.#begin(key, cancelRun)
    const ignorePhases = onPhase(cancelRun, (phase) => {
      run.phase = phase
    })
    const outcome = await this.#attempt(key, run, cancelRun)
    ignorePhases()
    this.#records.endRun(key)
    if (outcome.kind === 'settled' && !run.hasSetEvents) this.#schedule.waitFor(key, [])
    if ('cause' in outcome) this.#records.recordFailure(key, outcome)
    this.#schedule.applyOutcome(key, outcome, run.driverReturns)
    if (outcome.kind === 'settled') this.#settled(key, run, outcome.completesWork === true)
    return outcome
  }

  #begin(key: string, signal: AbortSignal): Active {
    const { record, subject } = this.#records.beginRun(key)
    this.#schedule.markSeen(key)
    const setEvents = (events: readonly WakeEvent[]): void => {
      run.hasSetEvents = true
      this.#schedule.waitFor(key, events)
    }
    const run: Active = {
      signal,
      retrying: record.isRetrying,
      waitedFor: this.#schedule.awaitedBy(key),
      phase: 'deciding',
      hasSetEvents: false,
      driverReturns: this.#schedule.driverReturns,
      subject,
      waitFor: (...events) => setEvents(events),
      stopWaiting: () => setEvents([]),
      observe: (read) => {
        this.#schedule.markSeen(key)
        return read()
      },
    }
    this.#records.activate(key, run)
    return run
  }

  /** Returns `retry` if `reconcile` throws, and `stopped` if it throws because of `cancelRun`. */
  async #attempt(key: string, run: Run<string>, cancelRun: AbortSignal): Promise<Outcome> {
    try {
      return await this.#controller.reconcile(key, run)
    } catch (cause) {
      return cancelRun.aborted && isAbort(cause) ? STOPPED : { kind: 'retry', cause }
    }
  }

  /** Reports completed work. The key gets a new record, unless it waits. */
  #settled(key: string, { subject }: Active, completesWork: boolean): void {
    if (completesWork && subject !== undefined) this.#records.complete(key, subject)
    if (this.#schedule.awaitedBy(key).length === 0) this.#records.reset(key)
  }
}
