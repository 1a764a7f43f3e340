import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import type { DriverEvent } from '@csi-sidecars/csi'
import { type AnyController, type Outcome, SETTLED } from '../controller.ts'
import type { Enqueuer } from '../sources.ts'
import { runTerm } from '../term.ts'

export const shutdown = new CancelledError('shutting down')
export const busy = new Error('busy')
export const RETRY = { kind: 'retry', cause: busy } satisfies Outcome

export type Reconcile = AnyController['reconcile']

/** A driver that the test disconnects and reconnects. */
class ScriptedDriver {
  state: 'ready' | 'lost' = 'ready'
  readonly #listeners = new Set<(event: DriverEvent) => void>()

  subscribe(listener: (event: DriverEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  lose(): void {
    this.state = 'lost'
    for (const each of this.#listeners) each({ type: 'lost' })
  }

  comeBack(): void {
    this.state = 'ready'
    for (const each of this.#listeners) each({ type: 'ready', lostForMs: 0 })
  }

  get listeners(): number {
    return this.#listeners.size
  }
}

/** Runs one controller with a scripted `reconcile` until the test aborts `stop`. */
export class Term {
  readonly clock = new FakeClock()
  readonly driver = new ScriptedDriver()
  readonly stop = new AbortController()
  readonly cancelRuns = new AbortController()
  /** Each run of `reconcile` as `key@time`, in order. */
  readonly runs: string[] = []
  readonly failures: { key: string; cause: unknown }[] = []
  readonly ended: Promise<void>
  isOver = false
  #queue: Enqueuer<string> | undefined

  constructor(reconcile: Reconcile | readonly Outcome[], change: Partial<AnyController> = {}) {
    const answers = typeof reconcile === 'function' ? [] : [...reconcile]
    const answer: Reconcile =
      typeof reconcile === 'function'
        ? reconcile
        : async () => (answers.length > 1 ? answers.shift() : answers[0]) ?? SETTLED
    const controller: AnyController = {
      name: 'things',
      workers: 2,
      backoff: { baseMs: 1000, maxMs: 8000 },
      caches: [],
      sources: [
        (queue) => {
          this.#queue = queue
          return () => undefined
        },
      ],
      wakers: {},
      reconcile: (key, run) => {
        this.runs.push(`${key}@${this.clock.monotonic()}`)
        return answer(key, run)
      },
      onFailure: (key, cause) => this.failures.push({ key, cause }),
      callsDriver: true,
      ...change,
    }
    const lead = {
      stop: this.stop.signal,
      cancelRuns: this.cancelRuns.signal,
      assertLeading: () => undefined,
      soleSince: 0,
    }
    const { clock, driver } = this
    this.ended = runTerm(lead, [controller], { clock, driver }).finally(() => {
      this.isOver = true
    })
    terms.push(this)
  }

  static async begin(...args: ConstructorParameters<typeof Term>): Promise<Term> {
    const term = new Term(...args)
    await term.clock.settle()
    return term
  }

  get queue(): Enqueuer<string> {
    if (this.#queue === undefined) throw new Error('the controller has not started')
    return this.#queue
  }

  /** Adds keys, and waits until all work that needs no timer is done. */
  async add(...keys: readonly string[]): Promise<void> {
    for (const key of keys) this.queue.add(key)
    await this.clock.settle()
  }

  takeRuns(): readonly string[] {
    return this.runs.splice(0)
  }
}

const terms: Term[] = []

/** Excludes the last term from `endTerms`, because the term has ended by itself. */
export function forgetLastTerm(): void {
  terms.pop()
}

/** Ends all terms. Returns how many driver listeners and timers each term has not removed. */
export async function endTerms(): Promise<readonly { listeners: number; timers: number }[]> {
  const ended = terms.splice(0)
  for (const { stop, cancelRuns } of ended) {
    stop.abort(shutdown)
    cancelRuns.abort(shutdown)
  }
  await Promise.all(ended.map((term) => term.ended))
  return ended.map(({ driver, clock }) => ({ listeners: driver.listeners, timers: clock.pending }))
}

/** Returns a `reconcile` that hangs until the test calls `answer` with its outcome. */
export function hanging(): { reconcile: Reconcile; answer(outcome: Outcome): void } {
  const answers: ((outcome: Outcome) => void)[] = []
  return {
    reconcile: (_, { signal }) =>
      new Promise((resolve, reject) => {
        answers.push(resolve)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
    answer: (outcome) => answers.shift()?.(outcome),
  }
}
