import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '@csi-sidecars/base'
import type { RunTrace } from './span.ts'

/** What everything that a run awaits can find out about it. */
export interface RunContext {
  /** 32 hexadecimal digits, the same in every line of the run; the id of its trace where there is one. */
  readonly traceId: string
  /** Undefined without tracing. */
  readonly trace?: RunTrace | undefined
}

interface Held {
  /** Undefined once the run has ended: what it has set going, such as a connection, may live on. */
  context: RunContext | undefined
}

/** The runs under way, each found by what it awaits. Made only where somebody asks: a storage costs a little each turn. */
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

  /** As part of no run: for what is shared by all, whoever happens to set it going. */
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
