import { aborted, CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { afterEach, describe, expect, test } from '@jest/globals'
import { AGAIN, type Controller, type Outcome, SETTLED, STOPPED } from './controller.ts'
import { runTerm } from './term.ts'
import {
  busy,
  endTerms,
  forgetLastTerm,
  hanging,
  RETRY,
  type Reconcile,
  shutdown,
  Term,
} from './testing/scripted-term.ts'

/** Checks that `runTerm` leaves no listeners and no timers behind after a stop. */
afterEach(async () => {
  for (const left of await endTerms()) expect(left).toEqual({ listeners: 0, timers: 0 })
})

describe('an outcome', () => {
  test('the back-off of a key starts again after the outcome `settled`', async () => {
    const { clock, runs, queue } = await Term.begin([RETRY, RETRY, SETTLED, RETRY])
    queue.add('a')
    await clock.advance(100_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000'])
    queue.add('a')
    await clock.advance(1000)
    expect(runs.slice(3)).toEqual(['a@100000', 'a@101000'])
  })

  test('the outcome `retry` doubles the pause of a key up to the limit, and reports every failure', async () => {
    const { clock, runs, failures, queue } = await Term.begin([RETRY])
    queue.add('a')
    await clock.advance(24_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000', 'a@7000', 'a@15000', 'a@23000'])
    expect(failures[0]).toEqual({ key: 'a', cause: busy })
    expect(failures).toHaveLength(6)
  })

  test.each([
    { afterMs: 5_000, at: 'a@5000', name: 'after this time' },
    { afterMs: 10, at: 'a@1000', name: 'not before the shortest back-off' },
    { afterMs: 3_600_000, at: 'a@8000', name: 'not after the longest back-off' },
  ])('`retry` with a wait of $afterMs ms runs $name, and does not change the back-off', async ({ afterMs, at }) => {
    const { clock, runs, queue } = await Term.begin([{ ...RETRY, afterMs }, RETRY, SETTLED])
    queue.add('a')
    await clock.advance(20_000)
    const retriedAt = Number(at.slice(2))
    expect(runs).toEqual(['a@0', at, `a@${retriedAt + 1000}`])
  })

  test.each([0, -1])(
    '`retry` with a wait of %d ms has the growing pauses of a failure without a wait',
    async (afterMs) => {
      const { clock, runs, queue } = await Term.begin([{ ...RETRY, afterMs }])
      queue.add('a')
      await clock.advance(8_000)
      expect(runs).toEqual(['a@0', 'a@1000', 'a@3000', 'a@7000'])
    },
  )

  test.each([
    ['the driver', new RpcError(CODES.Aborted, 'busy', { retryAfterMs: 5_000 })],
    ['the API server', new ApiError({ code: 429, reason: 'TooManyRequests', message: 'wait', retryAfterMs: 5_000 })],
  ])('`retry` after an error that contains a pause of %s runs after this pause', async (_, cause) => {
    const outcome = { kind: 'retry', cause: new Error('failed to delete', { cause }) } as const
    const { clock, runs, queue } = await Term.begin([outcome, SETTLED])
    queue.add('a')
    await clock.advance(20_000)
    expect(runs).toEqual(['a@0', 'a@5000'])
  })

  test('a Retry-After of 0 seconds from the API server does not stop the pauses from growing', async () => {
    const refused = new ApiError({ code: 429, reason: 'TooManyRequests', message: 'wait', retryAfterMs: 0 })
    const { clock, runs, queue } = await Term.begin([{ kind: 'retry', cause: refused }])
    queue.add('a')
    await clock.advance(8_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000', 'a@7000'])
  })

  test('runs after the outcome `retry` count as retries until a run succeeds or the object is replaced', async () => {
    const outcomes: Outcome[] = [RETRY, RETRY, { kind: 'superseded', cause: new Error('failed') }, RETRY, SETTLED]
    const retrying: boolean[] = []
    const term = await Term.begin(async (_, run) => {
      retrying.push(run.retrying)
      return outcomes.shift() ?? SETTLED
    })
    await term.add('a')
    await term.clock.advance(60_000)
    await term.add('a')
    expect(retrying).toEqual([false, true, true, false, true, false])
  })

  test('the outcome `retry` waits for the Retry-After of the API server, up to the longest back-off', async () => {
    const asked = (retryAfterMs: number): Outcome => {
      const refused = new ApiError({ code: 429, reason: 'TooManyRequests', message: 'wait', retryAfterMs })
      return { kind: 'retry', cause: new Error('failed to attach', { cause: refused }) }
    }
    const { clock, runs, queue } = await Term.begin([asked(5_000), asked(3_600_000), SETTLED])
    queue.add('a')
    await clock.advance(20_000)
    expect(runs).toEqual(['a@0', 'a@5000', 'a@13000'])
  })

  test('a key that is added again before its run reads the caches still waits after the outcome `retry`', async () => {
    const term = await Term.begin(async (key, run) => {
      term.queue.add(key)
      run.observe(() => undefined)
      return RETRY
    })
    await term.add('a')
    await term.clock.advance(3000)
    expect(term.runs).toEqual(['a@0', 'a@1000', 'a@3000'])
  })

  test('a key that is added twice before its run still waits after the outcome `retry`', async () => {
    const term = await Term.begin([RETRY])
    await term.add('a', 'a')
    await term.clock.advance(1000)
    expect(term.runs).toEqual(['a@0', 'a@1000'])
  })

  test('a key that is added after its run has read the caches runs at once despite `retry`', async () => {
    const term = await Term.begin(async (key, run) => {
      if (term.runs.length === 1) term.queue.add(key)
      return run.retrying ? SETTLED : RETRY
    })
    await term.add('a')
    expect(term.runs).toEqual(['a@0', 'a@0'])
  })

  test('the outcome `postponed` runs the key again after the given time, and reports no failure', async () => {
    const { clock, runs, failures, queue } = await Term.begin([{ kind: 'postponed', ms: 50 }, SETTLED])
    queue.add('a')
    await clock.advance(10_000)
    expect([runs, failures]).toEqual([['a@0', 'a@50'], []])
  })

  test('the outcome `again` runs the key once more at once', async () => {
    const term = await Term.begin([AGAIN, SETTLED])
    await term.add('a')
    expect([term.runs, term.queue.isInWork('a')]).toEqual([['a@0', 'a@0'], false])
  })

  test('the outcome `superseded` reports the failure of the old object, and the new object starts without failures', async () => {
    const { clock, runs, failures, queue } = await Term.begin([
      RETRY,
      { kind: 'superseded', cause: busy },
      RETRY,
      SETTLED,
    ])
    queue.add('a')
    await clock.advance(10_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@1000', 'a@2000'])
    expect(failures).toHaveLength(3)
  })

  test('a key does not run again after the outcome `stopped`', async () => {
    const { clock, runs, failures, queue } = await Term.begin([STOPPED])
    queue.add('a')
    await clock.advance(100_000)
    expect([runs, failures, clock.pending]).toEqual([['a@0'], [], 0])
  })
})

describe('errors', () => {
  test.each<[string, Reconcile]>([
    ['rejects', () => Promise.reject(busy)],
    [
      'throws before it returns',
      () => {
        throw busy
      },
    ],
    ['reports an abort without an aborted signal', () => Promise.reject(new CancelledError('busy'))],
  ])('a run counts as failed if `reconcile` %s', async (_, reconcile) => {
    const { clock, runs, failures, queue } = await Term.begin(reconcile)
    queue.add('a')
    await clock.advance(1000)
    expect(runs).toEqual(['a@0', 'a@1000'])
    expect(failures.map(({ key, cause }) => [key, cause instanceof Error && cause.message])).toEqual([
      ['a', 'busy'],
      ['a', 'busy'],
    ])
  })

  test('an error of `reconcile` does not affect other keys', async () => {
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
  test('a controller runs at most `workers` keys in parallel, and never the same key twice', async () => {
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

  test.each([0, -1])('a controller with `workers` %d runs no key, and waits until it is stopped', async (workers) => {
    const term = await Term.begin([SETTLED], { workers })
    await term.add('a')
    expect([term.runs, term.isOver]).toEqual([[], false])
    term.stop.abort(shutdown)
    await term.clock.settle()
    expect(term.isOver).toBe(true)
  })
})

describe('stopping', () => {
  test('an abort of `stop` prevents new runs, but lets running keys end and uses their outcomes', async () => {
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

  test('an abort of `cancelRuns` ends running keys, which does not count as a failure', async () => {
    const { reconcile } = hanging()
    const term = await Term.begin(reconcile)
    await term.add('a')
    term.stop.abort(shutdown)
    term.cancelRuns.abort(shutdown)
    await term.clock.settle()
    expect([term.isOver, term.failures]).toEqual([true, []])
  })

  test('after an abort of `cancelRuns`, a failure for another reason is still reported', async () => {
    const reconcile: Reconcile = (_, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(busy), { once: true }))
    const term = await Term.begin(reconcile)
    await term.add('a')
    term.stop.abort(shutdown)
    term.cancelRuns.abort(shutdown)
    await term.ended
    expect(term.failures).toEqual([{ key: 'a', cause: busy }])
  })

  test('a stopped term ends `alongside` and its key sources before it calls `onEnd`', async () => {
    const steps: string[] = []
    const term = await Term.begin([SETTLED], {
      sources: [
        () => {
          steps.push('source began')
          return () => steps.push('source ended')
        },
      ],
      onStart: () => steps.push('start'),
      onEnd: () => steps.push('end'),
      alongside: (_, stop) =>
        new Promise((resolve) =>
          stop.addEventListener('abort', () => {
            steps.push('stopped')
            resolve()
          }),
        ),
    })
    term.stop.abort(shutdown)
    await term.ended
    expect(steps).toEqual(['start', 'source began', 'stopped', 'source ended', 'end'])
  })

  test('`runTerm` never starts a controller whose caches are not ready', async () => {
    const steps: string[] = []
    const ensureListedSince = (_: number, stop: AbortSignal): Promise<void> =>
      new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason), { once: true }))
    const term = new Term([SETTLED], { caches: [{ ensureListedSince }], onStart: () => steps.push('start') })
    term.stop.abort(shutdown)
    await term.ended
    expect(steps).toEqual([])
  })

  test('`runTerm` without controllers runs until it is stopped', async () => {
    const stop = new AbortController()
    const lead = { stop: stop.signal, cancelRuns: stop.signal, assertLeading: () => undefined, soleSince: 0 }
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

test('if `alongside` fails, `runTerm` cancels the running keys and then throws the error', async () => {
  const broken = new Error('a bug')
  const start = Promise.withResolvers<void>()
  let cancelled = 0
  const reconcile: Reconcile = async (_, { signal }) => {
    await aborted(signal)
    cancelled += 1
    return STOPPED
  }
  const term = await Term.begin(reconcile, { alongside: () => start.promise })
  forgetLastTerm()
  await term.add('a')
  start.reject(broken)
  await expect(term.ended).rejects.toBe(broken)
  expect([cancelled, term.driver.listeners, term.clock.pending]).toEqual([1, 0, 0])
})

describe('`wrapRun`', () => {
  test('`wrapRun` wraps each run of a key, including its failure report, and gets its outcome', async () => {
    const steps: string[] = []
    const wrapRun: Controller['wrapRun'] = async (key, run) => {
      steps.push(`begin ${key}`)
      const { kind } = await run()
      steps.push(`end ${key}: ${kind}`)
      return { kind: 'settled' }
    }
    const onFailure = (key: string): number => steps.push(`failed ${key}`)
    const term = await Term.begin(async () => Promise.reject(busy), { wrapRun, onFailure })
    await term.add('a')
    expect(steps).toEqual(['begin a', 'failed a', 'end a: retry'])
    await term.clock.advance(1000)
    expect(term.takeRuns()).toEqual(['a@0', 'a@1000'])
  })

  test('a key does not run again before `wrapRun` has ended', async () => {
    const hold = Promise.withResolvers<void>()
    const wrapRun: Controller['wrapRun'] = async (_, run) => {
      const outcome = await run()
      await hold.promise
      return outcome
    }
    const term = await Term.begin([SETTLED], { wrapRun })
    await term.add('a')
    await term.add('a')
    expect(term.takeRuns()).toEqual(['a@0'])
    hold.resolve()
    await term.clock.settle()
    expect(term.takeRuns()).toEqual(['a@0'])
  })
})
