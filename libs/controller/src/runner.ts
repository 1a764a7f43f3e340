import { aborted, type Clock, isAbort, unreachable } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { WorkQueue } from '@csi-sidecars/workqueue'
import type { Backlog } from './backlog.ts'
import type { Controller, Run } from './controller.ts'
import { failureOf, serverWaitOf } from './failure.ts'
import { type Outcome, STOPPED } from './outcome.ts'
import { dueSince, type KeyState, type PendingWork, type Phase, type Subject } from './pending.ts'
import { pendingWork } from './pending-work.ts'
import { Records } from './records.ts'
import type { Enqueuer } from './sources.ts'
import { type Cause, Waiting } from './waiting.ts'

/** The driver, as far as it decides whether keys are started. */
export type FollowedDriver = Pick<Driver, 'state' | 'subscribe'>

/** A run under way. */
interface Active extends Run {
  phase: Phase
  /** It has said what the key waits for. */
  decided: boolean
  /** How often the driver had come back when it began. */
  readonly driverReturns: number
  /** What was due when it began. */
  readonly subject: Subject | undefined
  /** It has said that this is done. */
  completed: boolean
}

export interface RunnerOptions {
  readonly clock: Clock
  /** Undefined where nobody asks what is pending. */
  readonly backlog?: Backlog | undefined
}

/** The queue of one controller in one term, with all that decides when a key is worked on. */
export class Runner implements Enqueuer {
  readonly #controller: Controller
  readonly #queue: WorkQueue
  readonly #waiting = new Waiting()
  readonly #active = new Map<string, Active>()
  readonly #options: RunnerOptions
  readonly #records: Records
  #driverReturns = 0
  #paused = false

  /** The only caller of done, forget, addRateLimited and addAfter on the queue. */
  constructor(controller: Controller, queue: WorkQueue, options: RunnerOptions) {
    this.#controller = controller
    this.#queue = queue
    this.#options = options
    this.#records = new Records(() => options.clock.now())
  }

  add(key: string, later = false): void {
    this.#records.of(key)
    this.#queue.add(key, later)
  }

  renew(key: string): void {
    this.#records.renew(key)
    this.#queue.forget(key)
  }

  resetBackoff(key: string): void {
    this.#queue.forget(key)
  }

  /** The keys go on waiting until a run has decided otherwise. */
  wake(cause: Cause): void {
    for (const key of this.#waiting.keysOf(cause)) this.#retryNow(key)
  }

  forget(key: string): void {
    this.#waiting.delete(key)
    this.#queue.forget(key)
    this.#records.delete(key)
    if (this.#isOwed(key)) this.#records.of(key)
  }

  isInWork(key: string): boolean {
    return this.#queue.isInWork(key)
  }

  /** What is pending, and why. A look at the keys that are not settled, and at no other. */
  *pending(): Generator<PendingWork> {
    const { pending: table } = this.#controller
    if (table === undefined) return
    for (const [key, record] of this.#records.entries()) {
      const active = this.#active.get(key)
      const subject = table.subject(key) ?? active?.subject
      const state = active?.phase ?? this.#stateOf(key)
      if (subject === undefined || state === undefined) continue
      yield pendingWork({
        key,
        queue: this.#controller.name,
        record,
        subject,
        state,
        causes: this.#waiting.causesOf(key),
        paused: this.#paused,
        behind: this.#queue.behind(key),
        dueIn: this.#queue.dueIn(key),
        now: this.#options.clock.now(),
        table,
      })
    }
  }

  #stateOf(key: string): KeyState | undefined {
    if (this.#queue.isPending(key)) return 'queued'
    if (this.#waiting.has(key)) return 'waiting'
    return this.#queue.dueIn(key) === undefined ? undefined : 'backoff'
  }

  /** Whether a run over the key is to come, or under way, or waited for. */
  #isOwed(key: string): boolean {
    return this.#stateOf(key) !== undefined
  }

  /** No key is started while the driver is away. When it is back, all that it may have left behind is tried at once. */
  follow(driver: FollowedDriver): () => void {
    if (driver.state === 'lost') this.#pause()
    return driver.subscribe(({ type }) => {
      if (type === 'lost') this.#pause()
      if (type === 'ready') this.#driverReturned()
    })
  }

  #pause(): void {
    this.#paused = true
    this.#queue.pause()
  }

  #driverReturned(): void {
    this.#driverReturns += 1
    this.#controller.onDriverReturn?.()
    const keys = new Set([...this.#queue.failed(), ...this.#queue.planned(), ...this.#waiting.keys()])
    // Most of them may fail again: what has been asked for meanwhile goes first.
    for (const key of keys) this.#retryNow(key, true)
    this.#paused = false
    this.#queue.resume()
  }

  #retryNow(key: string, later = false): void {
    this.#queue.forget(key)
    this.#queue.add(key, later)
  }

  /**
   * Works until `stop` is aborted, then lets running keys end and resolves. Running keys are cut short only by `cut`,
   * which must come after `stop`.
   */
  async work(stop: AbortSignal, cut: AbortSignal): Promise<void> {
    const { workers } = this.#controller
    if (workers <= 0) await aborted(stop)
    else await Promise.all(Array.from({ length: workers }, () => this.#worker(stop, cut)))
  }

  async #worker(stop: AbortSignal, cut: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#nextKey(stop)
      if (key === undefined) return
      const { around } = this.#controller
      if (around === undefined) await this.#run(key, cut)
      else await around(key, () => this.#run(key, cut))
      this.#queue.done(key)
      if (!this.#isOwed(key)) this.#records.delete(key)
    }
  }

  async #run(key: string, cut: AbortSignal): Promise<Outcome> {
    const run = this.#begin(key, cut)
    const outcome = await this.#attempt(key, run, cut)
    this.#active.delete(key)
    this.#settle(key, run, outcome)
    if (outcome.kind === 'settled') this.#settled(key, run)
    return outcome
  }

  async #nextKey(stop: AbortSignal): Promise<string | undefined> {
    if (stop.aborted) return undefined
    try {
      return await this.#queue.get(stop)
    } catch (reason) {
      if (stop.aborted) return undefined
      throw reason
    }
  }

  #begin(key: string, signal: AbortSignal): Active {
    const record = this.#records.of(key)
    const subject = this.#controller.pending?.subject(key)
    if (subject !== undefined && record.tries === 0)
      this.#options.backlog?.begun(subject.operation, this.#age(key, subject))
    record.tries += 1
    const run: Active = {
      signal,
      retrying: record.retrying,
      waitedFor: this.#waiting.causesOf(key),
      phase: 'deciding',
      decided: false,
      driverReturns: this.#driverReturns,
      subject,
      completed: false,
      waitFor: (...causes) => {
        run.decided = true
        this.#waiting.set(key, causes)
      },
      enter: (phase) => {
        run.phase = phase
      },
      complete: () => {
        run.completed = true
      },
    }
    this.#active.set(key, run)
    return run
  }

  /** Milliseconds since the work became due. */
  #age(key: string, { sinceSeconds }: Subject): number {
    const now = this.#options.clock.now()
    return Math.max(0, now - dueSince(this.#records.get(key)?.addedAt ?? now, sinceSeconds))
  }

  /** Counts what is done. Whatever comes next for the key is other work, unless it waits for what is missing. */
  #settled(key: string, { subject, completed }: Active): void {
    if (completed && subject !== undefined) {
      const age = this.#age(key, subject)
      this.#options.backlog?.completed(subject.operation, age)
      this.#controller.onComplete?.(key, subject, this.#options.clock.now() - age)
    }
    if (!this.#waiting.has(key)) this.#records.renew(key)
  }

  /** Whatever reconcile throws is a failed run of this key and of no other. */
  async #attempt(key: string, run: Run, cut: AbortSignal): Promise<Outcome> {
    try {
      return await this.#controller.reconcile(key, run)
    } catch (cause) {
      return cut.aborted && isAbort(cause) ? STOPPED : { kind: 'retry', cause }
    }
  }

  #settle(key: string, run: Active, outcome: Outcome): void {
    switch (outcome.kind) {
      case 'settled':
        if (!run.decided) this.#waiting.delete(key)
        this.#queue.forget(key)
        return
      case 'again':
        if (outcome.cause !== undefined) {
          this.#failed(key, outcome)
          this.#queue.forget(key)
        }
        this.#queue.add(key)
        return
      case 'retry':
        this.#failed(key, outcome)
        this.#retry(key, run, outcome.afterMs ?? serverWaitOf(outcome.cause))
        return
      case 'postponed':
        this.#queue.addAfter(key, outcome.ms)
        return
      case 'blocked':
        this.#failed(key, outcome)
        this.#queue.forget(key)
        return
      case 'stopped':
        return
      default:
        unreachable(outcome)
    }
  }

  #failed(key: string, { kind, cause }: Pick<Outcome & { cause?: unknown }, 'kind' | 'cause'>): void {
    const record = this.#records.of(key)
    record.failure = failureOf(cause)
    record.retrying = kind === 'retry'
    record.blocked = kind === 'blocked'
    this.#controller.onFailure?.(key, cause)
  }

  #retry(key: string, run: Active, afterMs: number | undefined): void {
    const { baseMs, maxMs } = this.#controller.backoff
    if (run.driverReturns !== this.#driverReturns) {
      // It failed by a driver that has gone, while the next one was coming.
      this.#queue.forget(key)
      this.#queue.addAfter(key, 0)
    } else if (afterMs === undefined) this.#queue.addRateLimited(key)
    else this.#queue.addAfter(key, Math.min(Math.max(afterMs, baseMs), maxMs))
  }
}
