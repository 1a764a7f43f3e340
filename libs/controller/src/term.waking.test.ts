import { afterEach, describe, expect, test } from '@jest/globals'
import { type Controller, type Outcome, type Run, SETTLED } from './controller.ts'
import { type Source, WakeFeed } from './sources.ts'
import { busy, endTerms, hanging, RETRY, type Reconcile, Term } from './testing/scripted-term.ts'
import type { WakeEvent } from './wake-event.ts'

/** Checks that `runTerm` leaves no listeners and no timers behind after a stop. */
afterEach(async () => {
  for (const left of await endTerms()) expect(left).toEqual({ listeners: 0, timers: 0 })
})

describe('wakers', () => {
  test('the source of each waker runs while the controller runs, and wakes its keys', async () => {
    const deletions = new WakeFeed<'volume'>()
    const wakers = {
      volume: { object: 'PersistentVolume', reason: 'VolumeNotUsable', source: deletions.source },
    } as const
    const waitForVolume: Reconcile = async (key, run) => {
      run.waitFor({ kind: 'volume', name: key })
      return SETTLED
    }
    const term = await Term.begin(waitForVolume, { wakers })
    await term.add('a')
    deletions.wake({ kind: 'volume', name: 'a' })
    await term.clock.settle()
    expect(term.runs.splice(0)).toEqual(['a@0', 'a@0'])
    await endTerms()
    deletions.wake({ kind: 'volume', name: 'a' })
    await term.clock.settle()
    expect(term.runs).toEqual([])
  })

  test('a wait for an event that no waker reports does not compile', () => {
    const source: Source = () => () => undefined
    const waker = { object: 'PersistentVolume', reason: 'VolumeNotUsable', source } as const
    const base = {
      name: 'x',
      workers: 1,
      backoff: { baseMs: 1, maxMs: 1 },
      caches: [],
      sources: [],
      callsDriver: false,
    }
    const waitForNode = async (_: string, run: Run<'node'>): Promise<Outcome> => {
      run.waitFor({ kind: 'node' })
      return SETTLED
    }
    const reconcile = async (): Promise<Outcome> => SETTLED
    const nodes = new WakeFeed<'node'>().source
    const wrong: readonly Controller<'volume'>[] = [
      // @ts-expect-error: the wait for a node has no waker.
      { ...base, wakers: { volume: waker }, reconcile: waitForNode },
      // @ts-expect-error: the waker of volumes is missing.
      { ...base, wakers: {}, reconcile },
      // @ts-expect-error: the source of volumes reports nodes.
      { ...base, wakers: { volume: { ...waker, source: nodes } }, reconcile },
    ]
    expect(wrong).toHaveLength(3)
  })
})

describe('the events of waiting keys', () => {
  const on = (name: string): WakeEvent => ({ kind: 'volume', name })
  /** Always fails, and waits for the volume with the name of the key and for node `n1`. */
  const waiting: Reconcile = async (key, run) => {
    run.waitFor(on(key), { kind: 'node', name: 'n1' })
    return RETRY
  }

  test('a waiting key runs at once when one of its events happens, and its back-off starts again', async () => {
    const { clock, queue, ...term } = await Term.begin(waiting)
    queue.add('a')
    await clock.advance(4_000)
    expect(term.runs.splice(0)).toEqual(['a@0', 'a@1000', 'a@3000'])
    queue.wake({ kind: 'node', name: 'n1' })
    await clock.advance(1_000)
    expect(term.runs).toEqual(['a@4000', 'a@5000'])
  })

  test('a waiting key does not run when the event of another key happens', async () => {
    const term = await Term.begin(waiting)
    await term.add('a')
    term.queue.wake(on('b'))
    term.queue.wake({ kind: 'class', name: 'a' })
    await term.clock.settle()
    expect(term.runs).toEqual(['a@0'])
  })

  test('a run that fails before it calls `waitFor` keeps the events of the earlier run', async () => {
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
      'calls `stopWaiting`',
      async (_, run) => {
        run.stopWaiting()
        return RETRY
      },
    ],
    ['is settled', async () => SETTLED],
  ])('a key stops waiting for its causes once a run %s', async (_, second) => {
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

  test('a key can wait for a cause even after the outcome `settled`', async () => {
    const term = await Term.begin(async (key, run) => {
      run.waitFor(on(key))
      return SETTLED
    })
    await term.add('a')
    term.queue.wake(on('a'))
    await term.clock.settle()
    expect(term.runs).toEqual(['a@0', 'a@0'])
  })

  test('a deleted object ends the wait of its key, and a recreated object starts without failures', async () => {
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
  test('keys wait while the driver is lost, and keys without failures run when the driver is back', async () => {
    const term = await Term.begin([SETTLED])
    term.driver.lose()
    await term.add('a')
    expect(term.runs).toEqual([])
    term.driver.comeBack()
    await term.clock.settle()
    expect(term.runs).toEqual(['a@0'])
  })

  test('when the driver reconnects, all failed, waiting and postponed keys run at once, without earlier failures', async () => {
    const outcomes = new Map<string, Outcome>([
      ['failed', RETRY],
      ['postponed', { kind: 'postponed', ms: 60_000 }],
      ['waiting', SETTLED],
    ])
    const reconcile: Reconcile = async (key, run) => {
      if (key === 'waiting') run.waitFor({ kind: 'class', name: 'gold' })
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

  test('when the driver is back, new keys run before failed keys', async () => {
    const term = await Term.begin([RETRY], { workers: 1 })
    await term.add('failed-1', 'failed-2', 'failed-3')
    term.takeRuns()
    term.driver.lose()
    term.driver.comeBack()
    await term.add('new')
    expect(term.takeRuns()).toEqual(['failed-1@0', 'new@0', 'failed-2@0', 'failed-3@0'])
  })

  test('a failure while the driver reconnects does not count, and the run is repeated at once', async () => {
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

  test('a lost driver does not pause a controller that never calls the driver', async () => {
    const term = await Term.begin([SETTLED], { callsDriver: false })
    term.driver.lose()
    await term.add('a')
    expect(term.runs).toEqual(['a@0'])
  })
})
