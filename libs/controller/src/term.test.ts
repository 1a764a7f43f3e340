import { aborted, CancelledError, FakeClock } from '@csi-sidecars/base'
import type { DriverEvent } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { Controller } from './controller.ts'
import { AGAIN, type Outcome, SETTLED, STOPPED } from './outcome.ts'
import type { Enqueuer } from './sources.ts'
import { runTerm } from './term.ts'
import type { Cause } from './waiting.ts'

const shutdown = new CancelledError('shutting down')
const busy = new Error('busy')
const RETRY: Outcome = { kind: 'retry', cause: busy }

/** A driver that comes and goes as the test says. */
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

type Reconcile = Controller['reconcile']

class Term {
  readonly clock = new FakeClock()
  readonly driver = new ScriptedDriver()
  readonly stop = new AbortController()
  readonly cut = new AbortController()
  /** Every run as `key@time`, in order. */
  readonly runs: string[] = []
  readonly failures: { key: string; cause: unknown }[] = []
  readonly ended: Promise<void>
  isOver = false
  #queue: Enqueuer | undefined

  constructor(reconcile: Reconcile | readonly Outcome[], change: Partial<Controller> = {}) {
    const answers = typeof reconcile === 'function' ? [] : [...reconcile]
    const answer: Reconcile =
      typeof reconcile === 'function'
        ? reconcile
        : async () => (answers.length > 1 ? answers.shift() : answers[0]) ?? SETTLED
    const controller: Controller = {
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
      reconcile: (key, run) => {
        this.runs.push(`${key}@${this.clock.monotonic()}`)
        return answer(key, run)
      },
      onFailure: (key, cause) => this.failures.push({ key, cause }),
      callsDriver: true,
      ...change,
    }
    const lead = { stop: this.stop.signal, cut: this.cut.signal, assertLeading: () => undefined, soleSince: 0 }
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

  get queue(): Enqueuer {
    if (this.#queue === undefined) throw new Error('the controller has not started')
    return this.#queue
  }

  /** Adds keys, and waits until nothing happens without time. */
  async add(...keys: readonly string[]): Promise<void> {
    for (const key of keys) this.queue.add(key)
    await this.clock.settle()
  }

  takeRuns(): readonly string[] {
    return this.runs.splice(0)
  }
}

const terms: Term[] = []

/** A term that was stopped ends, whatever became of its keys. */
afterEach(async () => {
  for (const { stop, cut, ended, driver, clock } of terms.splice(0)) {
    stop.abort(shutdown)
    cut.abort(shutdown)
    await ended
    expect([driver.listeners, clock.pending]).toEqual([0, 0])
  }
})

/** A reconcile that hangs until it is told what to answer. */
function hanging(): { reconcile: Reconcile; answer(outcome: Outcome): void } {
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

describe('an outcome', () => {
  test('settled ends the matter and forgets earlier failures', async () => {
    const { clock, runs, queue } = await Term.begin([RETRY, RETRY, SETTLED, RETRY])
    queue.add('a')
    await clock.advance(100_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000'])
    queue.add('a')
    await clock.advance(1000)
    expect(runs.slice(3)).toEqual(['a@100000', 'a@101000'])
  })

  test('retry comes back after a wait that doubles up to its limit, and every failure is reported', async () => {
    const { clock, runs, failures, queue } = await Term.begin([RETRY])
    queue.add('a')
    await clock.advance(24_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000', 'a@7000', 'a@15000', 'a@23000'])
    expect(failures[0]).toEqual({ key: 'a', cause: busy })
    expect(failures).toHaveLength(6)
  })

  test.each([
    { afterMs: 5_000, at: 'a@5000', name: 'as told' },
    { afterMs: 10, at: 'a@1000', name: 'not before the first back-off' },
    { afterMs: 3_600_000, at: 'a@8000', name: 'not after the longest' },
  ])('retry with a told wait comes back $name, and leaves the back-off as it is', async ({ afterMs, at }) => {
    const { clock, runs, queue } = await Term.begin([{ ...RETRY, afterMs }, RETRY, SETTLED])
    queue.add('a')
    await clock.advance(20_000)
    const told = Number(at.slice(2))
    expect(runs).toEqual(['a@0', at, `a@${told + 1000}`])
  })

  test('retry waits as long as the API server has asked for, and no longer than the longest back-off', async () => {
    const asked = (retryAfterMs: number): Outcome => {
      const refused = new ApiError({ code: 429, reason: 'TooManyRequests', message: 'wait', retryAfterMs })
      return { kind: 'retry', cause: new Error('failed to attach', { cause: refused }) }
    }
    const { clock, runs, queue } = await Term.begin([asked(5_000), asked(3_600_000), SETTLED])
    queue.add('a')
    await clock.advance(20_000)
    expect(runs).toEqual(['a@0', 'a@5000', 'a@13000'])
  })

  test('postponed comes back when it says, without a failure', async () => {
    const { clock, runs, failures, queue } = await Term.begin([{ kind: 'postponed', ms: 50 }, SETTLED])
    queue.add('a')
    await clock.advance(10_000)
    expect([runs, failures]).toEqual([['a@0', 'a@50'], []])
  })

  test('again comes back at once, once', async () => {
    const term = await Term.begin([AGAIN, SETTLED])
    await term.add('a')
    expect([term.runs, term.queue.isInWork('a')]).toEqual([['a@0', 'a@0'], false])
  })

  test('again with a cause is a failure of an object that is gone: the next of its name has none', async () => {
    const { clock, runs, failures, queue } = await Term.begin([RETRY, { kind: 'again', cause: busy }, RETRY, SETTLED])
    queue.add('a')
    await clock.advance(10_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@1000', 'a@2000'])
    expect(failures).toHaveLength(3)
  })

  test('stopped leaves the key to whoever comes next', async () => {
    const { clock, runs, failures, queue } = await Term.begin([STOPPED])
    queue.add('a')
    await clock.advance(100_000)
    expect([runs, failures, clock.pending]).toEqual([['a@0'], [], 0])
  })
})

describe('a reconcile that throws', () => {
  test.each<[string, Reconcile]>([
    ['rejects', () => Promise.reject(busy)],
    [
      'throws before it returns',
      () => {
        throw busy
      },
    ],
    ['reports an abort that nobody asked for', () => Promise.reject(new CancelledError('busy'))],
  ])('is a failed run when it %s', async (_, reconcile) => {
    const { clock, runs, failures, queue } = await Term.begin(reconcile)
    queue.add('a')
    await clock.advance(1000)
    expect(runs).toEqual(['a@0', 'a@1000'])
    expect(failures.map(({ key, cause }) => [key, cause instanceof Error && cause.message])).toEqual([
      ['a', 'busy'],
      ['a', 'busy'],
    ])
  })

  test('harms no other key', async () => {
    const reconcile: Reconcile = async (key) => {
      if (key === 'bad') throw busy
      return SETTLED
    }
    const term = await Term.begin(reconcile, { workers: 1 })
    await term.add('bad', 'good')
    expect(term.runs).toEqual(['bad@0', 'good@0'])
  })
})

describe('the workers', () => {
  test('work on as many keys at once as there are workers, and on no key twice', async () => {
    const { reconcile, answer } = hanging()
    const { clock, runs, queue } = await Term.begin(reconcile)
    for (const key of ['a', 'b', 'c', 'a']) queue.add(key)
    await clock.settle()
    queue.add('a')
    await clock.settle()
    expect(runs).toEqual(['a@0', 'b@0'])
    answer(SETTLED)
    await clock.settle()
    expect(runs).toEqual(['a@0', 'b@0', 'c@0'])
    answer(SETTLED)
    await clock.settle()
    expect(runs).toEqual(['a@0', 'b@0', 'c@0', 'a@0'])
  })

  test.each([0, -1])('can be %d: then nothing is worked on until it is stopped', async (workers) => {
    const term = await Term.begin([SETTLED], { workers })
    await term.add('a')
    expect([term.runs, term.isOver]).toEqual([[], false])
    term.stop.abort(shutdown)
    await term.clock.settle()
    expect(term.isOver).toBe(true)
  })
})

describe('a key that waits for a cause', () => {
  const on = (name: string): Cause => ({ on: 'volume', name })
  /** Fails for ever, waiting for the volume of its own name. */
  const waiting: Reconcile = async (key, run) => {
    run.waitFor(on(key), { on: 'node', name: 'n1' })
    return RETRY
  }

  test('is tried at once when one of them comes, with a back-off that starts from the beginning', async () => {
    const { clock, queue, ...term } = await Term.begin(waiting)
    queue.add('a')
    await clock.advance(4_000)
    expect(term.runs.splice(0)).toEqual(['a@0', 'a@1000', 'a@3000'])
    queue.wake({ on: 'node', name: 'n1' })
    await clock.advance(1_000)
    expect(term.runs).toEqual(['a@4000', 'a@5000'])
  })

  test('is left alone by what others wait for', async () => {
    const term = await Term.begin(waiting)
    await term.add('a')
    term.queue.wake(on('b'))
    term.queue.wake({ on: 'class', name: 'a' })
    await term.clock.settle()
    expect(term.runs).toEqual(['a@0'])
  })

  test('goes on waiting when a run fails before it has decided', async () => {
    let runs = 0
    const reconcile: Reconcile = (key, run) => {
      runs += 1
      return runs === 2 ? Promise.reject(busy) : waiting(key, run)
    }
    const { clock, queue, ...term } = await Term.begin(reconcile)
    queue.add('a')
    await clock.advance(1_000)
    expect(term.runs.splice(0)).toEqual(['a@0', 'a@1000'])
    queue.wake(on('a'))
    await clock.settle()
    expect(term.runs).toEqual(['a@1000'])
  })

  test.each<[string, Reconcile]>([
    [
      'decides otherwise',
      async (_, run) => {
        run.waitFor()
        return RETRY
      },
    ],
    ['is settled', async () => SETTLED],
  ])('waits no more once a run %s', async (_, second) => {
    let runs = 0
    const reconcile: Reconcile = (key, run) => {
      runs += 1
      return runs === 1 ? waiting(key, run) : second(key, run)
    }
    const term = await Term.begin(reconcile)
    await term.add('a')
    await term.add('a')
    term.takeRuns()
    term.queue.wake(on('a'))
    await term.clock.settle()
    expect(term.runs).toEqual([])
  })

  test('may be settled and wait all the same', async () => {
    const term = await Term.begin(async (key, run) => {
      run.waitFor(on(key))
      return SETTLED
    })
    await term.add('a')
    term.queue.wake(on('a'))
    await term.clock.settle()
    expect(term.runs).toEqual(['a@0', 'a@0'])
  })

  test('waits no more once its object is gone, and the next one of its name has not failed', async () => {
    const { clock, queue, ...term } = await Term.begin(waiting)
    queue.add('a')
    await clock.advance(3_000)
    queue.forget('a')
    queue.wake(on('a'))
    await clock.settle()
    expect(term.runs.splice(0)).toEqual(['a@0', 'a@1000', 'a@3000'])
    queue.add('a')
    await clock.advance(1_000)
    expect(term.runs).toEqual(['a@3000', 'a@4000'])
  })
})

describe('the driver', () => {
  test('that is away holds keys back, and those that did not fail go on when it is back', async () => {
    const term = await Term.begin([SETTLED])
    term.driver.lose()
    await term.add('a')
    expect(term.runs).toEqual([])
    term.driver.comeBack()
    await term.clock.settle()
    expect(term.runs).toEqual(['a@0'])
  })

  test('that is back is tried at once by all that failed, waited or was postponed, and their failures are forgotten', async () => {
    const outcomes = new Map<string, Outcome>([
      ['failed', RETRY],
      ['postponed', { kind: 'postponed', ms: 60_000 }],
      ['waiting', SETTLED],
    ])
    const reconcile: Reconcile = async (key, run) => {
      if (key === 'waiting') run.waitFor({ on: 'class', name: 'gold' })
      return outcomes.get(key) ?? SETTLED
    }
    let returns = 0
    const term = await Term.begin(reconcile, { workers: 10, onDriverReturn: () => (returns += 1) })
    await term.add('failed', 'postponed', 'waiting', 'fine')
    await term.clock.advance(4_000)
    term.takeRuns()
    term.driver.lose()
    term.driver.comeBack()
    await term.clock.advance(1_000)
    expect(term.takeRuns().toSorted()).toEqual(['failed@4000', 'failed@5000', 'postponed@4000', 'waiting@4000'])
    expect(returns).toBe(1)
  })

  test('that came back while a run was failing is tried at once, and the failure does not count', async () => {
    const { reconcile, answer } = hanging()
    const term = await Term.begin(reconcile)
    await term.add('a')
    term.driver.lose()
    term.driver.comeBack()
    answer(RETRY)
    await term.clock.settle()
    expect(term.takeRuns()).toEqual(['a@0', 'a@0'])
    answer(RETRY)
    await term.clock.advance(1_000)
    expect(term.runs).toEqual(['a@1000'])
  })

  test('is of no concern to a controller that does not call it', async () => {
    const term = await Term.begin([SETTLED], { callsDriver: false })
    term.driver.lose()
    await term.add('a')
    expect(term.runs).toEqual(['a@0'])
  })
})

describe('stopping', () => {
  test('begins nothing more, lets what runs end, and keeps its outcome', async () => {
    const { reconcile, answer } = hanging()
    const term = await Term.begin(reconcile, { workers: 1 })
    await term.add('a', 'b')
    term.stop.abort(shutdown)
    await term.clock.settle()
    expect(term.isOver).toBe(false)
    answer(RETRY)
    await term.clock.settle()
    expect([term.runs, term.isOver]).toEqual([['a@0'], true])
    expect(term.failures.map(({ key }) => key)).toEqual(['a'])
  })

  test('cut short ends what runs, which is no failure', async () => {
    const { reconcile } = hanging()
    const term = await Term.begin(reconcile)
    await term.add('a')
    term.stop.abort(shutdown)
    term.cut.abort(shutdown)
    await term.clock.settle()
    expect([term.isOver, term.failures]).toEqual([true, []])
  })

  test('cut short still reports a run that failed for another reason', async () => {
    const reconcile: Reconcile = (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(busy), { once: true }))
    const term = await Term.begin(reconcile)
    await term.add('a')
    term.stop.abort(shutdown)
    term.cut.abort(shutdown)
    await term.ended
    expect(term.failures).toEqual([{ key: 'a', cause: busy }])
  })

  test('ends sources and what runs beside the workers, and says so', async () => {
    const told: string[] = []
    const term = await Term.begin([SETTLED], {
      sources: [
        () => {
          told.push('source began')
          return () => told.push('source ended')
        },
      ],
      onStart: () => told.push('start'),
      onEnd: () => told.push('end'),
      alongside: (_, stop) =>
        new Promise((resolve) =>
          stop.addEventListener('abort', () => {
            told.push('stopped')
            resolve()
          }),
        ),
    })
    term.stop.abort(shutdown)
    await term.ended
    expect(told).toEqual(['start', 'source began', 'stopped', 'source ended', 'end'])
  })

  test('before its caches are ready leaves it unbegun', async () => {
    const told: string[] = []
    const caughtUp = (_: number, stop: AbortSignal): Promise<void> =>
      new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason), { once: true }))
    const term = new Term([SETTLED], { caches: [{ caughtUp }], onStart: () => told.push('start') })
    term.stop.abort(shutdown)
    await term.ended
    expect(told).toEqual([])
  })

  test('without controllers goes on until it is stopped', async () => {
    const stop = new AbortController()
    const lead = { stop: stop.signal, cut: stop.signal, assertLeading: () => undefined, soleSince: 0 }
    let over = false
    const ended = runTerm(lead, [], { clock: new FakeClock() }).then(() => {
      over = true
    })
    await Promise.resolve()
    expect(over).toBe(false)
    stop.abort(shutdown)
    await ended
    expect(over).toBe(true)
  })
})

test('a part of a controller that throws cuts short what runs beside it, and is thrown when nothing runs any more', async () => {
  const broken = new Error('a bug')
  const start = Promise.withResolvers<void>()
  let cut = 0
  const reconcile: Reconcile = async (_, { signal }) => {
    await aborted(signal)
    cut += 1
    return STOPPED
  }
  const term = await Term.begin(reconcile, { alongside: () => start.promise })
  // It is over by itself: nothing is left to stop.
  terms.pop()
  await term.add('a')
  start.reject(broken)
  await expect(term.ended).rejects.toBe(broken)
  expect([cut, term.driver.listeners, term.clock.pending]).toEqual([1, 0, 0])
})

describe('what is put around runs', () => {
  test('surrounds each of them, its failure and its end, and learns the outcome', async () => {
    const told: string[] = []
    const around: Controller['around'] = async (key, run) => {
      told.push(`begin ${key}`)
      const { kind } = await run()
      told.push(`end ${key}: ${kind}`)
      return { kind: 'settled' }
    }
    const onFailure = (key: string): number => told.push(`failed ${key}`)
    const term = await Term.begin(async () => Promise.reject(busy), { around, onFailure })
    await term.add('a')
    expect(told).toEqual(['begin a', 'failed a', 'end a: retry'])
    await term.clock.advance(1000)
    expect(term.takeRuns()).toEqual(['a@0', 'a@1000'])
  })

  test('is over before the key is given back', async () => {
    const hold = Promise.withResolvers<void>()
    const around: Controller['around'] = async (_, run) => {
      const outcome = await run()
      await hold.promise
      return outcome
    }
    const term = await Term.begin([SETTLED], { around })
    await term.add('a')
    await term.add('a')
    expect(term.takeRuns()).toEqual(['a@0'])
    hold.resolve()
    await term.clock.settle()
    expect(term.takeRuns()).toEqual(['a@0'])
  })
})
