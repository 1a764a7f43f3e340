import { CancelledError, FakeClock } from '@csi-sidecars/base'
import { perKeyExponential, WorkQueue } from '@csi-sidecars/workqueue'
import { afterEach, describe, expect, test } from '@jest/globals'
import { type ControllerOptions, runController } from './controller.ts'
import { AGAIN, type Outcome, SETTLED, STOPPED } from './outcome.ts'

const shutdown = new CancelledError('shutting down')

interface Setup {
  readonly clock: FakeClock
  readonly queue: WorkQueue
  readonly stop: AbortController
  readonly cut: AbortController
  /** Every run as `key@time`, in order. */
  readonly runs: string[]
  readonly failures: { key: string; cause: unknown; planned: number | undefined }[]
  readonly ended: Promise<void>
  readonly isOver: () => boolean
}

const setups: Setup[] = []

/** Runs a controller whose reconcile answers with these, the last one over and over. */
function start(reconcile: ControllerOptions['reconcile'] | readonly Outcome[], workers = 2): Setup {
  const clock = new FakeClock()
  const queue = new WorkQueue({ clock, limiter: perKeyExponential({ baseMs: 1000, maxMs: 8000 }) })
  const [stop, cut] = [new AbortController(), new AbortController()]
  const runs: string[] = []
  const failures: Setup['failures'] = []
  const answers = typeof reconcile === 'function' ? [] : [...reconcile]
  const answer =
    typeof reconcile === 'function'
      ? reconcile
      : async (): Promise<Outcome> => (answers.length > 1 ? answers.shift() : answers[0]) ?? SETTLED
  let over = false
  const ended = runController(
    {
      queue,
      workers,
      reconcile(key, signal) {
        runs.push(`${key}@${clock.monotonic()}`)
        return answer(key, signal)
      },
      onFailure: (key, cause) => failures.push({ key, cause, planned: queue.dueIn(key) }),
    },
    stop.signal,
    cut.signal,
  ).finally(() => {
    over = true
  })
  const setup = { clock, queue, stop, cut, runs, failures, ended, isOver: () => over }
  setups.push(setup)
  return setup
}

/** A controller that was stopped ends, whatever became of its keys. */
afterEach(async () => {
  for (const { stop, cut, ended, queue } of setups.splice(0)) {
    stop.abort(shutdown)
    cut.abort(shutdown)
    await ended
    queue.shutDown()
  }
})

/** A reconcile that hangs until it is told what to answer. */
function hanging(): { reconcile: ControllerOptions['reconcile']; answer(outcome: Outcome): void } {
  const answers: ((outcome: Outcome) => void)[] = []
  return {
    reconcile: (_, signal) =>
      new Promise((resolve, reject) => {
        answers.push(resolve)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
    answer: (outcome) => answers.shift()?.(outcome),
  }
}

describe('an outcome', () => {
  test('settled ends the matter and forgets earlier failures', async () => {
    const cause = new Error('busy')
    const { queue, clock, runs } = start([{ kind: 'retry', cause }, SETTLED])
    queue.add('a')
    await clock.advance(0)
    expect(queue.failures('a')).toBe(1)
    await clock.advance(100_000)
    expect([runs, queue.failures('a')]).toEqual([['a@0', 'a@1000'], 0])
  })

  test('retry comes back after a wait that doubles, and tells of the failure first', async () => {
    const cause = new Error('busy')
    const { queue, clock, runs, failures } = start([{ kind: 'retry', cause }])
    queue.add('a')
    await clock.advance(20_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@3000', 'a@7000', 'a@15000'])
    expect(failures.slice(0, 1)).toEqual([{ key: 'a', cause, planned: undefined }])
    expect(failures).toHaveLength(5)
  })

  test('retryAfter comes back when it says, and leaves the back-off as it is', async () => {
    const cause = new Error('busy')
    const { queue, clock, runs, failures } = start([
      { kind: 'retry', cause },
      { kind: 'retryAfter', ms: 50 },
      { kind: 'retryAfter', ms: 60, cause },
      { kind: 'retry', cause },
      SETTLED,
    ])
    queue.add('a')
    await clock.advance(10_000)
    expect(runs).toEqual(['a@0', 'a@1000', 'a@1050', 'a@1110', 'a@3110'])
    expect(failures).toHaveLength(3)
  })

  test('again comes back at once, once', async () => {
    const { queue, clock, runs } = start([AGAIN, SETTLED])
    queue.add('a')
    await clock.advance(0)
    expect([runs, queue.inWork]).toEqual([['a@0', 'a@0'], 0])
  })

  test('stopped leaves the key to whoever comes next', async () => {
    const { queue, clock, runs, failures } = start([STOPPED])
    queue.add('a')
    await clock.advance(100_000)
    expect([runs, failures, queue.inWork, clock.pending]).toEqual([['a@0'], [], 0, 0])
  })
})

describe('a reconcile that throws', () => {
  test.each<[string, ControllerOptions['reconcile']]>([
    ['rejects', () => Promise.reject(new Error('boom'))],
    [
      'throws before it returns',
      () => {
        throw new Error('boom')
      },
    ],
    ['reports an abort that nobody asked for', () => Promise.reject(new CancelledError('boom'))],
  ])('is a failed run when it %s', async (_, reconcile) => {
    const { queue, clock, runs, failures } = start(reconcile)
    queue.add('a')
    await clock.advance(1000)
    expect(runs).toEqual(['a@0', 'a@1000'])
    expect(failures.map(({ key, cause }) => [key, cause instanceof Error && cause.message])).toEqual([
      ['a', 'boom'],
      ['a', 'boom'],
    ])
  })

  test('harms no other key', async () => {
    const { queue, clock, runs } = start(async (key) => {
      if (key === 'bad') throw new Error('boom')
      return SETTLED
    }, 1)
    for (const key of ['bad', 'good']) queue.add(key)
    await clock.advance(0)
    expect(runs).toEqual(['bad@0', 'good@0'])
  })
})

describe('the workers', () => {
  test('work on as many keys at once as there are workers, and on no key twice', async () => {
    const { reconcile, answer } = hanging()
    const { queue, clock, runs } = start(reconcile, 2)
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
    const { queue, clock, runs, stop, isOver } = start([SETTLED], workers)
    queue.add('a')
    await clock.settle()
    expect([runs, queue.length, isOver()]).toEqual([[], 1, false])
    stop.abort(shutdown)
    await clock.settle()
    expect(isOver()).toBe(true)
  })

  test('go home when the queue is shut down', async () => {
    const { queue, ended } = start([SETTLED])
    queue.shutDown()
    await expect(ended).resolves.toBeUndefined()
  })
})

describe('stopping', () => {
  test('begins nothing more, lets what runs end, and keeps its outcome', async () => {
    const { reconcile, answer } = hanging()
    const { queue, clock, stop, runs, failures, isOver } = start(reconcile, 1)
    queue.add('a')
    queue.add('b')
    await clock.settle()
    stop.abort(shutdown)
    await clock.settle()
    expect(isOver()).toBe(false)
    answer({ kind: 'retry', cause: new Error('busy') })
    await clock.settle()
    expect([runs, queue.length, queue.inWork, isOver()]).toEqual([['a@0'], 1, 0, true])
    expect(failures.map(({ key }) => key)).toEqual(['a'])
  })

  test('cut short ends what runs, which is no failure', async () => {
    const { reconcile } = hanging()
    const { queue, clock, stop, cut, failures, isOver } = start(reconcile, 1)
    queue.add('a')
    await clock.settle()
    stop.abort(shutdown)
    cut.abort(shutdown)
    await clock.settle()
    expect([isOver(), failures, queue.failures('a'), queue.inWork, clock.pending]).toEqual([true, [], 0, 0, 0])
  })

  test('cut short still tells of a run that failed for another reason', async () => {
    const boom = new Error('boom')
    const { queue, clock, stop, cut, failures, ended } = start(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(boom), { once: true })),
    )
    queue.add('a')
    await clock.settle()
    stop.abort(shutdown)
    cut.abort(shutdown)
    await ended
    expect(failures).toEqual([{ key: 'a', cause: boom, planned: undefined }])
  })

  test('before it has begun works on nothing', async () => {
    const queue = new WorkQueue({ clock: new FakeClock(), limiter: perKeyExponential({ baseMs: 1, maxMs: 1 }) })
    queue.add('a')
    const reconcile = (): Promise<Outcome> => Promise.reject(new Error('must not run'))
    await runController({ queue, workers: 3, reconcile }, AbortSignal.abort(shutdown), new AbortController().signal)
    expect([queue.length, queue.inWork]).toEqual([1, 0])
  })
})
