import { aborted, causesOf, isAbort, unreachable } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import type { WorkQueue } from '@csi-sidecars/workqueue'
import type { Controller, Phase, Run } from './controller.ts'
import { type Outcome, STOPPED } from './outcome.ts'
import type { Enqueuer } from './sources.ts'
import { type Cause, Waiting } from './waiting.ts'

/** What a key is doing. `waiting`: for a cause, and for its back-off if it has one. */
export type KeyState = 'queued' | 'waiting' | 'backoff' | Phase

/** The driver, as far as it decides whether keys are started. */
export type FollowedDriver = Pick<Driver, 'state' | 'subscribe'>

/** A run under way. */
interface Active extends Run {
  phase: Phase
  /** It has said what the key waits for. */
  decided: boolean
  /** How often the driver had come back when it began. */
  readonly driverReturns: number
}

/** The queue of one controller in one term, with all that decides when a key is worked on. */
export class Runner implements Enqueuer {
  readonly #controller: Controller
  readonly #queue: WorkQueue
  readonly #waiting = new Waiting()
  readonly #active = new Map<string, Active>()
  #driverReturns = 0

  /** The only caller of done, forget, addRateLimited and addAfter on the queue. */
  constructor(controller: Controller, queue: WorkQueue) {
    this.#controller = controller
    this.#queue = queue
  }

  add(key: string): void {
    this.#queue.add(key)
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
  }

  isInWork(key: string): boolean {
    return this.#queue.isInWork(key)
  }

  /** What every key that is not settled is doing. */
  *states(): Generator<readonly [string, KeyState]> {
    for (const [key, { phase }] of this.#active) yield [key, phase]
    for (const key of this.#queue.queued()) yield [key, 'queued']
    for (const key of this.#queue.planned()) yield [key, this.#waiting.has(key) ? 'waiting' : 'backoff']
    for (const key of this.#waiting.keys()) {
      if (this.#queue.dueIn(key) === undefined && !this.#queue.isPending(key)) yield [key, 'waiting']
    }
  }

  /** No key is started while the driver is away. When it is back, all that it may have left behind is tried at once. */
  follow(driver: FollowedDriver): () => void {
    if (driver.state === 'lost') this.#queue.pause()
    return driver.subscribe(({ type }) => {
      if (type === 'lost') this.#queue.pause()
      if (type === 'ready') this.#driverReturned()
    })
  }

  #driverReturned(): void {
    this.#driverReturns += 1
    this.#controller.onDriverReturn?.()
    const keys = new Set([...this.#queue.failed(), ...this.#queue.planned(), ...this.#waiting.keys()])
    for (const key of keys) this.#retryNow(key)
    this.#queue.resume()
  }

  #retryNow(key: string): void {
    this.#queue.forget(key)
    this.#queue.add(key)
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
    }
  }

  async #run(key: string, cut: AbortSignal): Promise<Outcome> {
    const run = this.#begin(key, cut)
    const outcome = await this.#attempt(key, run, cut)
    this.#active.delete(key)
    this.#settle(key, run, outcome)
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
    const run: Active = {
      signal,
      phase: 'deciding',
      decided: false,
      driverReturns: this.#driverReturns,
      waitFor: (...causes) => {
        run.decided = true
        this.#waiting.set(key, causes)
      },
      enter: (phase) => {
        run.phase = phase
      },
    }
    this.#active.set(key, run)
    return run
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
          this.#failed(key, outcome.cause)
          this.#queue.forget(key)
        }
        this.#queue.add(key)
        return
      case 'retry':
        this.#failed(key, outcome.cause)
        this.#retry(key, run, outcome.afterMs ?? serverWaitOf(outcome.cause))
        return
      case 'postponed':
        this.#queue.addAfter(key, outcome.ms)
        return
      case 'stopped':
        return
      default:
        unreachable(outcome)
    }
  }

  #failed(key: string, cause: unknown): void {
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

/** How long the API server has asked to wait, wherever among the causes its answer stands. */
function serverWaitOf(thrown: unknown): number | undefined {
  for (const cause of causesOf(thrown)) if (cause instanceof ApiError) return cause.retryAfterMs
  return undefined
}
