import { unreachable } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { KeyPriority, WorkQueue } from '@csi-sidecars/workqueue'
import type { Controller, Outcome } from './controller.ts'
import { serverWaitOf } from './failure.ts'
import type { KeyState } from './pending.ts'
import { type Cause, WaitingKeys } from './waiting.ts'

/** The driver, as far as it decides whether keys are started. */
export type FollowedDriver = Pick<Driver, 'state' | 'subscribe'>

/** Where a key is between its runs, and what it waits for. */
export interface KeyPosition {
  readonly state: Extract<KeyState, 'queued' | 'waiting' | 'backoff'> | undefined
  /** What it waits for. */
  readonly causes: readonly Cause[]
  /** No key is started: the driver is away. */
  readonly paused: boolean
  /** The group that has no room for it, though a worker may be free. */
  readonly blockedBy: string | undefined
  /** Milliseconds until it is added by itself. */
  readonly dueIn: number | undefined
}

/** When the keys of one controller are worked on. The only caller of its queue. */
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

  /** How often the driver has come back. */
  get driverReturns(): number {
    return this.#driverReturns
  }

  add(key: string, priority?: KeyPriority): void {
    this.#queue.add(key, priority)
  }

  resetBackoff(key: string): void {
    this.#queue.forget(key)
  }

  /** The keys still count as waiting until a run decides otherwise. */
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

  /** Whether a run over the key is to come, is under way, or is waited for. */
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

  /** No key starts while the driver is away. When it is back, everything that failed or waits is tried at once. */
  follow(driver: FollowedDriver, onReturn: () => void): () => void {
    if (driver.state === 'lost') this.#pause()
    return driver.subscribe(({ type }) => {
      if (type === 'lost') this.#pause()
      if (type === 'ready') this.#driverReturned(onReturn)
    })
  }

  /** The next key to work on; undefined from `stop` on. Call `done` when its outcome is settled. */
  async next(stop: AbortSignal): Promise<string | undefined> {
    if (stop.aborted) return undefined
    try {
      return await this.#queue.get(stop)
    } catch (reason) {
      if (stop.aborted) return undefined
      throw reason
    }
  }

  /** The run over the key reads its objects now: what it was added for until now needs no other run. */
  markSeen(key: string): void {
    this.#queue.markSeen(key)
  }

  done(key: string): void {
    this.#queue.done(key)
  }

  /** Plans what follows from the outcome of a run that began after the driver had come back so often. */
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
    // Most of them may fail again.
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
      // A driver that is gone made it fail, and the next one is there.
      this.#queue.forget(key)
      this.#queue.addAfter(key, 0)
    } else if (afterMs === undefined) this.#queue.addRateLimited(key)
    else this.#queue.addAfter(key, Math.min(Math.max(afterMs, baseMs), maxMs))
  }
}
