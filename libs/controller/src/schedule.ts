import { unreachable } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { KeyPriority, WorkQueue } from '@csi-sidecars/workqueue'
import type { Controller, Outcome } from './controller.ts'
import { serverWaitOf } from './failure.ts'
import type { KeyState } from './pending.ts'
import { type Cause, WaitingKeys } from './waiting.ts'

/** The part of the driver that decides whether keys start. */
export type FollowedDriver = Pick<Driver, 'state' | 'subscribe'>

/** The position of a key between its runs. */
export interface KeyPosition {
  readonly state: Extract<KeyState, 'queued' | 'waiting' | 'backoff'> | undefined
  /** The causes that the key waits for. */
  readonly causes: readonly Cause[]
  /** True: the driver is away, so no key starts. */
  readonly paused: boolean
  /** The full group that blocks the key, even if a worker is free. */
  readonly blockedBy: string | undefined
  /** Milliseconds until the key is added without an event. */
  readonly dueIn: number | undefined
}

/** Decides when the keys of one controller run. It is the only caller of its queue. */
export class Schedule {
  readonly #queue: WorkQueue
  readonly #backoff: Controller['backoff']
  readonly #waiting = new WaitingKeys()
  #driverReturns = 0
  #paused = false

  constructor(queue: WorkQueue, backoff: Controller['backoff']) {
    this.#queue = queue
    this.#backoff = backoff
  }

  /** The number of the driver's returns. */
  get driverReturns(): number {
    return this.#driverReturns
  }

  add(key: string, priority?: KeyPriority): void {
    this.#queue.add(key, priority)
  }

  resetBackoff(key: string): void {
    this.#queue.forget(key)
  }

  /** Starts the keys that wait for the cause. They count as waiting until a run decides otherwise. */
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

  waitFor(key: string, causes: readonly Cause[]): void {
    this.#waiting.set(key, causes)
  }

  causesOf(key: string): readonly Cause[] {
    return this.#waiting.causesOf(key)
  }

  /** Reports whether a run over the key is planned or running, or the key waits for a cause. */
  hasPendingRun(key: string): boolean {
    return this.#stateOf(key) !== undefined
  }

  positionOf(key: string): KeyPosition {
    return {
      state: this.#stateOf(key),
      causes: this.#waiting.causesOf(key),
      paused: this.#paused,
      blockedBy: this.#queue.blockedBy(key),
      dueIn: this.#queue.dueIn(key),
    }
  }

  /** Starts no key while the driver is away. When it is back, all failed and waiting keys run at once. */
  follow(driver: FollowedDriver, onReturn: () => void): () => void {
    if (driver.state === 'lost') this.#pause()
    return driver.subscribe(({ type }) => {
      if (type === 'lost') this.#pause()
      if (type === 'ready') this.#driverReturned(onReturn)
    })
  }

  /** Returns the next key, or undefined once `stop` is aborted. The caller calls `done` when the outcome is settled. */
  async next(stop: AbortSignal): Promise<string | undefined> {
    if (stop.aborted) return undefined
    try {
      return await this.#queue.get(stop)
    } catch (reason) {
      if (stop.aborted) return undefined
      throw reason
    }
  }

  /** Marks the changes so far as seen by the run over the key: they need no other run. */
  markSeen(key: string): void {
    this.#queue.markSeen(key)
  }

  done(key: string): void {
    this.#queue.done(key)
  }

  /** Plans the next run by the outcome of a run that began after `driverReturns` returns of the driver. */
  settle(key: string, outcome: Outcome, driverReturns: number): void {
    switch (outcome.kind) {
      case 'settled':
      case 'blocked':
        this.#queue.forget(key)
        return
      case 'superseded':
        this.#retryNow(key)
        return
      case 'again':
        this.#queue.add(key)
        return
      case 'retry':
        this.#retry(key, outcome.afterMs ?? serverWaitOf(outcome.cause), driverReturns)
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

  #stateOf(key: string): KeyPosition['state'] {
    if (this.#queue.isPending(key)) return 'queued'
    if (this.#waiting.has(key)) return 'waiting'
    return this.#queue.dueIn(key) === undefined ? undefined : 'backoff'
  }

  #pause(): void {
    this.#paused = true
    this.#queue.pause()
  }

  #driverReturned(onReturn: () => void): void {
    this.#driverReturns += 1
    onReturn()
    const keys = new Set([...this.#queue.failed(), ...this.#queue.planned(), ...this.#waiting.keys()])
    // Most of these keys may fail again, so they go last.
    for (const key of keys) this.#retryNow(key, 'retry')
    this.#paused = false
    this.#queue.resume()
  }

  #retryNow(key: string, priority?: KeyPriority): void {
    this.#queue.forget(key)
    this.#queue.add(key, priority)
  }

  #retry(key: string, afterMs: number | undefined, driverReturns: number): void {
    const { baseMs, maxMs } = this.#backoff
    if (driverReturns !== this.#driverReturns) {
      // The run failed because of the lost driver, and the driver is back.
      this.#queue.forget(key)
      this.#queue.addAfter(key, 0)
    } else if (afterMs === undefined) this.#queue.addRateLimited(key)
    else this.#queue.addAfter(key, Math.min(Math.max(afterMs, baseMs), maxMs))
  }
}
