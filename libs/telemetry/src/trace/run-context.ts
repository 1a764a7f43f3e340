import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '@csi-sidecars/base'
import type { RunTrace } from './span.ts'

/** The facts about a run that all code in its async context can read. */
export interface RunContext {
  /** The ID in every line of the run, 32 hexadecimal digits. It is also the ID of the trace, if there is one. */
  readonly traceId: string
  /** The trace of the run. Undefined if tracing is off. */
  readonly trace?: RunTrace | undefined
}

interface RunSlot {
  /** The context; undefined after the run. A connection that the run has opened may keep this object longer. */
  context: RunContext | undefined
}

/**
 * Finds the current run by its async context. The process creates an instance only if needed, because
 * AsyncLocalStorage costs time in each turn of the event loop.
 */
export class RunContexts {
  readonly #storage = new AsyncLocalStorage<RunSlot>()

  /** The context of the current run. Undefined outside of a run. */
  get current(): RunContext | undefined {
    return this.#storage.getStore()?.context
  }

  async run<T>(context: RunContext, work: () => Promise<T>): Promise<T> {
    const slot: RunSlot = { context }
    try {
      return await this.#storage.run(slot, work)
    } finally {
      slot.context = undefined
    }
  }

  /** Runs `work` outside of any run. Use it to create resources that outlive the run, such as a shared connection. */
  withoutRun<T>(work: () => T): T {
    return this.#storage.exit(work)
  }
}

type Random = Pick<Clock, 'random'>

/** Returns an ID that is never zero, because zero means "no ID" in the W3C format. `newSpanId` guarantees the same. */
export function newTraceId(clock: Random): string {
  return newSpanId(clock) + newSpanId(clock)
}

export function newSpanId(clock: Random): string {
  return randomHex(clock, 1) + randomHex(clock, 0)
}

/** Returns eight hexadecimal digits. */
function randomHex(clock: Random, minimum: number): string {
  return Math.max(Math.floor(clock.random() * 2 ** 32), minimum)
    .toString(16)
    .padStart(8, '0')
}
