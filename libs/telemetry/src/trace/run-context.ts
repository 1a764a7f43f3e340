import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '@csi-sidecars/base'
import type { RunTrace } from './span.ts'

/** What all code in the async context of a run can read about it. */
export interface RunContext {
  /** 32 hexadecimal digits, the same in every line of the run; the id of its trace where there is one. */
  readonly traceId: string
  /** Undefined without tracing. */
  readonly trace?: RunTrace | undefined
}

interface Held {
  /** Undefined once the run has ended: what it has started, such as a connection, may live longer. */
  context: RunContext | undefined
}

/** The current runs, found by async context. Created only on demand: an AsyncLocalStorage costs a little in each turn. */
export class RunContexts {
  readonly #storage = new AsyncLocalStorage<Held>()

  /** Of the run that this is part of. */
  get current(): RunContext | undefined {
    return this.#storage.getStore()?.context
  }

  async run<T>(context: RunContext, work: () => Promise<T>): Promise<T> {
    const held: Held = { context }
    try {
      return await this.#storage.run(held, work)
    } finally {
      held.context = undefined
    }
  }

  /** Outside of any run: for what is shared by all runs, although one of them starts it. */
  outside<T>(work: () => T): T {
    return this.#storage.exit(work)
  }
}

type Random = Pick<Clock, 'random'>

/** Neither of them is ever zero: that is how the W3C's format says that there is none. */
export function newTraceId(clock: Random): string {
  return newSpanId(clock) + newSpanId(clock)
}

export function newSpanId(clock: Random): string {
  return word(clock, 1) + word(clock, 0)
}

/** Eight digits. */
function word(clock: Random, least: number): string {
  return Math.max(Math.floor(clock.random() * 2 ** 32), least)
    .toString(16)
    .padStart(8, '0')
}
