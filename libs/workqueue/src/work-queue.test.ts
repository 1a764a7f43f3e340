import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, test } from '@jest/globals'
import { type QueueObserver, unobserved } from './metrics.ts'
import { perKeyExponential, WorkQueue } from './work-queue.ts'

const reason = new Error('shutting down')

function make(observer?: QueueObserver): { clock: FakeClock; queue: WorkQueue } {
  const clock = new FakeClock()
  const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
  return { clock, queue: new WorkQueue({ clock, limiter, ...(observer && { observer }) }) }
}

/** Fails a key as a worker does: gets it, plans its next run, and calls `done`. */
async function fail(queue: WorkQueue): Promise<string | undefined> {
  const key = await queue.get()
  if (key !== undefined) {
    queue.addRateLimited(key)
    queue.done(key)
  }
  return key
}

describe('WorkQueue', () => {
  test('a work queue adds a key after its delay', async () => {
    const { clock, queue } = make()
    queue.addAfter('a', 300)
    await clock.advance(299)
    expect([queue.length, queue.dueInMs('a')]).toEqual([0, 1])
    await clock.advance(1)
    expect([queue.length, queue.dueInMs('a')]).toEqual([1, undefined])
    expect(await queue.get()).toBe('a')
  })

  test('a work queue hands out added keys before keys whose delay is over', async () => {
    const { clock, queue } = make()
    for (const key of ['a', 'b', 'c']) queue.addAfter(key, 300)
    await clock.advance(300)
    for (const key of ['d', 'c']) queue.add(key)
    const order: (string | undefined)[] = []
    for (let count = 0; count < 4; count += 1) order.push(await queue.get())
    expect(order).toEqual(['d', 'c', 'a', 'b'])
  })

  test.each([0, -1])('a work queue adds a key at once if its delay is %d ms', (ms) => {
    const { clock, queue } = make()
    queue.addAfter('a', ms)
    expect([queue.length, clock.pending]).toEqual([1, 0])
  })

  test('a work queue delays a key longer after each failure, until the key succeeds', async () => {
    const { clock, queue } = make()
    queue.add('a')
    const waits: (number | undefined)[] = []
    for (let failure = 0; failure < 4; failure += 1) {
      await fail(queue)
      waits.push(queue.dueInMs('a'))
      await clock.advance(5000)
    }
    expect(waits).toEqual([1000, 2000, 4000, 5000])
    queue.forget('a')
    await fail(queue)
    expect(queue.dueInMs('a')).toBe(1000)
  })

  test('an addition of a key runs the key at once and cancels its planned run', async () => {
    const { clock, queue } = make()
    queue.add('a')
    await fail(queue)
    queue.add('a')
    await fail(queue)
    expect(queue.dueInMs('a')).toBe(2000)
    await clock.advance(10_000)
    expect([await queue.get(), queue.dueInMs('a'), queue.length]).toEqual(['a', undefined, 0])
    queue.done('a')
    await clock.advance(10_000)
    expect([queue.length, queue.inWork]).toEqual([0, 0])
  })

  test('a key runs once more when its delay ends while it is in work', async () => {
    const { clock, queue } = make()
    queue.add('a')
    await queue.get()
    queue.addAfter('a', 100)
    await clock.advance(100)
    expect([queue.length, queue.inWork]).toEqual([0, 1])
    queue.done('a')
    expect(queue.length).toBe(1)
  })

  test('`get` of a work queue waits for a key until its signal is aborted', async () => {
    const { clock, queue } = make()
    const controller = new AbortController()
    const [aborted, served] = [queue.get(controller.signal), queue.get()]
    controller.abort(reason)
    await expect(aborted).rejects.toBe(reason)
    queue.addAfter('a', 50)
    await clock.advance(50)
    expect(await served).toBe('a')
  })

  test('a paused work queue keeps the keys whose delay ends during the pause', async () => {
    const { clock, queue } = make()
    queue.pause()
    const got = queue.get()
    queue.addAfter('a', 50)
    await clock.advance(100)
    expect([queue.length, queue.inWork]).toEqual([1, 0])
    queue.resume()
    expect(await got).toBe('a')
  })

  test('the shutdown of a work queue drops planned keys, and no further keys are planned', async () => {
    const { clock, queue } = make()
    queue.add('a')
    queue.addAfter('later', 100)
    expect(await queue.get()).toBe('a')
    queue.shutDown()
    queue.addRateLimited('a')
    queue.addAfter('b', 0)
    queue.done('a')
    expect([await queue.get(), clock.pending, queue.length]).toEqual([undefined, 0, 0])
  })

  test('a work queue lists pending, planned and failed keys', async () => {
    const { queue } = make()
    queue.add('failing')
    await fail(queue)
    queue.add('queued')
    queue.addAfter('later', 50)
    expect([[...queue.planned()], [...queue.failed()]]).toEqual([['failing', 'later'], ['failing']])
    expect(['queued', 'later'].map((key) => queue.isPending(key))).toEqual([true, false])
  })

  test('a work queue calls its observer at each step, and reports every delayed addition as a retry', async () => {
    const notified: string[] = []
    const { clock, queue } = make({
      ...unobserved,
      added: (key) => notified.push(`added ${key}`),
      started: (key) => notified.push(`started ${key}`),
      ended: (key) => notified.push(`ended ${key}`),
      retried: () => notified.push('retried'),
    })
    queue.add('a')
    queue.add('a')
    await fail(queue)
    await clock.advance(1000)
    expect(notified).toEqual(['added a', 'started a', 'retried', 'ended a', 'added a'])
  })
})

describe('limiter', () => {
  test('the back-off limiter doubles the wait of a key with each failure, up to its limit', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    expect([1, 2, 3, 4, 5].map(() => limiter.when('a'))).toEqual([1000, 2000, 4000, 5000, 5000])
  })

  test('the back-off limiter counts the failures of each key separately', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    limiter.when('a')
    expect([limiter.when('b'), limiter.when('a'), limiter.when('c')]).toEqual([1000, 2000, 1000])
  })

  test('the back-off limiter starts with the shortest wait again once a key has succeeded', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    limiter.when('a')
    limiter.when('a')
    limiter.forget('a')
    limiter.forget('never seen')
    expect(limiter.when('a')).toBe(1000)
  })

  test('the back-off limiter lists the keys that have failed', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    for (const key of ['a', 'b', 'a', 'c']) limiter.when(key)
    limiter.forget('b')
    expect([...limiter.failed()]).toEqual(['a', 'c'])
  })

  test('the wait of the back-off limiter never exceeds its maximum, however often a key fails', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 300_000 })
    for (let failure = 0; failure < 3000; failure += 1) limiter.when('a')
    expect(limiter.when('a')).toBe(300_000)
  })
})
