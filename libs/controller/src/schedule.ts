import { unreachable } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import type { KeyPriority, WorkQueue } from '@csi-sidecars/workqueue'
import type { AnyController, Outcome } from './controller.ts'
import { requestedPauseMs } from './failure.ts'
import type { KeyState } from './pending.ts'
import { WaitingKeys, type WaitListener } from './waiting.ts'
import type { WakeEvent } from './wake-event.ts'

/** The part of a driver that reports whether it is connected. */
export type FollowedDriver = Pick<Driver, 'state' | 'subscribe'>

/** The state of a key between its runs, for a report. */
export interface KeyPosition {
  readonly state: Extract<KeyState, 'queued' | 'waiting' | 'backoff'> | undefined
  /** The events that the key waits for. */
  readonly waitsFor: readonly WakeEvent[]
  /** True: the driver is disconnected, so no key starts. */
  readonly isPaused: boolean
  /** The group whose limit keeps this key from starting despite a free worker. */
  readonly blockedBy: string | undefined
  /** The milliseconds until the next planned run of the key. */
  readonly dueInMs: number | undefined
}

/** Decides when the keys of one controller run. It is the only caller of its queue. */
export class Schedule {
  readonly #queue: WorkQueue
  readonly #backoff: AnyController['backoff']
  readonly #waiting = new WaitingKeys()
  #driverReturns = 0
  #isPaused = false

  constructor(queue: WorkQueue, backoff: AnyController['backoff']) {
    this.#queue = queue
    this.#backoff = backoff
  }

  /** The number of times that the driver has reconnected. */
  get driverReturns(): number {
    return this.#driverReturns
  }

  add(key: string, priority?: KeyPriority): void {
    this.#queue.add(key, priority)
  }

  resetBackoff(key: string): void {
    this.#queue.forget(key)
  }

  /** Runs the keys that wait for the event. A key waits for the same events until its next run. */
  wake(event: WakeEvent): void {
    for (const key of [...this.#waiting.keysWaitingFor(event)]) this.#retryNow(key)
  }

  keysWaitingFor(event: WakeEvent): ReadonlySet<string> {
    return this.#waiting.keysWaitingFor(event)
  }

  onWait(listener: WaitListener): () => void {
    return this.#waiting.onWait(listener)
  }

  forget(key: string): void {
    this.#waiting.delete(key)
    this.#queue.forget(key)
  }

  isInWork(key: string): boolean {
    return this.#queue.isInWork(key)
  }

  waitFor(key: string, events: readonly WakeEvent[]): void {
    this.#waiting.set(key, events)
  }

  awaitedBy(key: string): readonly WakeEvent[] {
    return this.#waiting.eventsOf(key)
  }

  /** Reports whether a run for the key is planned or running, or the key waits for an event. */
  hasPendingRun(key: string): boolean {
    return this.#stateOf(key) !== undefined
  }

  positionOf(key: string): KeyPosition {
    return {
      state: this.#stateOf(key),
      waitsFor: this.#waiting.eventsOf(key),
      isPaused: this.#isPaused,
      blockedBy: this.#queue.blockedBy(key),
      dueInMs: this.#queue.dueInMs(key),
    }
  }

  /** Starts no key while the driver is disconnected. When it is back, all failed and waiting keys run at once. */
  follow(driver: FollowedDriver, onReturn: () => void): () => void {
    if (driver.state === 'lost') this.#pause()
    return driver.subscribe(({ type }) => {
      if (type === 'lost') this.#pause()
      if (type === 'ready') this.#retryAll(onReturn)
    })
  }

  /** Returns the next key, or undefined once `stop` is aborted. The caller must call `endRun` after the run. */
  async next(stop: AbortSignal): Promise<string | undefined> {
    if (stop.aborted) return undefined
    try {
      return await this.#queue.get(stop)
    } catch (reason) {
      if (stop.aborted) return undefined
      throw reason
    }
  }

  /** Records that the current run of the key has read all changes so far, so that they cause no further run. */
  markSeen(key: string): void {
    this.#queue.markSeen(key)
  }

  endRun(key: string): void {
    this.#queue.done(key)
  }

  /** Plans the next run of a key. `driverReturns` is the number of reconnects of the driver when the run began. */
  applyOutcome(key: string, outcome: Outcome, driverReturns: number): void {
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
        this.#retry(key, outcome.afterMs ?? requestedPauseMs(outcome.cause), driverReturns)
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
    return this.#queue.dueInMs(key) === undefined ? undefined : 'backoff'
  }

  #pause(): void {
    this.#isPaused = true
    this.#queue.pause()
  }

  #retryAll(onReturn: () => void): void {
    this.#driverReturns += 1
    onReturn()
    const keys = new Set([...this.#queue.failed(), ...this.#queue.planned(), ...this.#waiting.keys()])
    // Most of the failed keys may fail again, so new keys run before them.
    for (const key of keys) this.#retryNow(key, 'retry')
    this.#isPaused = false
    this.#queue.resume()
  }

  #retryNow(key: string, priority?: KeyPriority): void {
    this.#queue.forget(key)
    this.#queue.add(key, priority)
  }

  #retry(key: string, afterMs: number | undefined, driverReturns: number): void {
    const { baseMs, maxMs } = this.#backoff
    if (driverReturns !== this.#driverReturns) {
      // The run failed because of the lost driver. The driver is back, so the key runs again at once.
      this.#queue.forget(key)
      this.#queue.addAfter(key, 0)
    } else if (afterMs === undefined || afterMs <= 0) this.#queue.addRateLimited(key)
    else this.#queue.addAfter(key, Math.min(Math.max(afterMs, baseMs), maxMs))
  }
}
