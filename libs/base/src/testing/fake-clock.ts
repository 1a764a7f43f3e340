import type { Cancel, Clock } from '../clock.ts'
import { sleepWith } from '../clock.ts'
import { Heap, type HeapItem, NOT_IN_HEAP } from '../heap.ts'

interface Timer extends HeapItem {
  readonly dueAt: number
  readonly order: number
  readonly fire: () => void
}

/** The number of event loop turns between two timers. Promises settle in them, even after callbacks of sockets. */
const TURNS = 3

/** A Clock for tests that advances only when `advance` or `freeze` is called. `random` returns 0.5 by default. */
export class FakeClock implements Clock {
  readonly #timers = new Heap<Timer>((a, b) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order))
  readonly #random: () => number
  #elapsed = 0
  #order = 0
  #start: number

  constructor(options: { now?: number; random?: () => number } = {}) {
    this.#start = options.now ?? 1_700_000_000_000
    this.#random = options.random ?? (() => 0.5)
  }

  now(): number {
    return this.#start + this.#elapsed
  }

  monotonic(): number {
    return this.#elapsed
  }

  random(): number {
    return this.#random()
  }

  schedule(ms: number, fire: () => void): Cancel {
    this.#order += 1
    const timer: Timer = { dueAt: this.#elapsed + Math.max(ms, 0), order: this.#order, fire, heapIndex: NOT_IN_HEAP }
    this.#timers.push(timer)
    return () => this.#timers.remove(timer)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal)
  }

  get pending(): number {
    return this.#timers.size
  }

  /** Milliseconds until the next timer fires. */
  get nextIn(): number | undefined {
    const next = this.#timers.peek()
    return next && next.dueAt - this.#elapsed
  }

  /** Sets the wall time but not the monotonic time, as an operator or NTP does. */
  setWall(now: number): void {
    this.#start = now - this.#elapsed
  }

  /** Lets `ms` pass. Fires the timers that are due, in order, and lets promises settle after each timer. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    await this.settle()
    for (let next = this.#timers.peek(); next !== undefined && next.dueAt <= end; next = this.#timers.peek()) {
      this.#elapsed = Math.max(this.#elapsed, next.dueAt)
      this.#timers.remove(next)
      next.fire()
      await this.settle()
    }
    this.#elapsed = end
  }

  /** Lets `ms` pass without firing a timer, as for a process that was stopped. Then fires the timers that are due. */
  async freeze(ms: number): Promise<void> {
    this.#elapsed += ms
    await this.advance(0)
  }

  /** Lets promises settle while no time passes. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
}
