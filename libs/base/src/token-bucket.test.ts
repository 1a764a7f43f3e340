import { getEventListeners } from 'node:events'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { InvariantError } from './errors.ts'
import { FakeClock } from './testing/fake-clock.ts'
import { TokenBucket } from './token-bucket.ts'

/** Records the order in which callers of `acquire` are served, and the times. */
function line(
  bucket: TokenBucket,
  clock: FakeClock,
): { served: string[]; ask(name: string, signal?: AbortSignal): void } {
  const served: string[] = []
  const ask = (name: string, signal?: AbortSignal): void => {
    bucket.acquire(signal).then(
      () => served.push(`${name}@${clock.monotonic()}`),
      () => served.push(`${name} left@${clock.monotonic()}`),
    )
  }
  return { served, ask }
}

describe('TokenBucket', () => {
  const make = (): { clock: FakeClock; bucket: TokenBucket } => {
    const clock = new FakeClock()
    return { clock, bucket: new TokenBucket({ clock, qps: 5, burst: 10 }) }
  }

  test('a bucket of ten tokens serves ten callers at once, and then one caller each 200 ms, in order', async () => {
    const { clock, bucket } = make()
    const { served, ask } = line(bucket, clock)
    for (let taker = 1; taker <= 13; taker += 1) ask(`${taker}`)
    await clock.settle()
    expect(served).toEqual(['1@0', '2@0', '3@0', '4@0', '5@0', '6@0', '7@0', '8@0', '9@0', '10@0'])
    served.length = 0
    await clock.advance(10_000)
    expect(served).toEqual(['11@200', '12@400', '13@600'])
    expect(clock.pending).toBe(0)
  })

  test('a bucket serves exactly 10 + 5 x 60 callers in a minute of steady demand', async () => {
    const { clock, bucket } = make()
    const { served, ask } = line(bucket, clock)
    for (let taker = 0; taker < 1000; taker += 1) ask(`${taker}`)
    await clock.advance(60_000)
    expect(served).toHaveLength(310)
  })

  test('an idle bucket of ten tokens fills up in two seconds, and never above its burst', async () => {
    const { clock, bucket } = make()
    for (let token = 0; token < 10; token += 1) bucket.reserve()
    await clock.advance(3_600_000)
    expect(Array.from({ length: 12 }, () => bucket.reserve())).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200, 400])
  })

  test('`reserve` takes a token even from an empty bucket, and returns how long the caller must wait', async () => {
    const { clock, bucket } = make()
    for (let token = 0; token < 10; token += 1) bucket.reserve()
    expect([bucket.reserve(), bucket.reserve()]).toEqual([200, 400])
    await clock.advance(100)
    expect(bucket.reserve()).toBe(500)
    bucket.refund()
    expect(bucket.reserve()).toBe(500)
  })

  test('a bucket holds at most its burst of tokens, even after refunds', () => {
    const { bucket } = make()
    for (let token = 0; token < 5; token += 1) bucket.refund()
    expect(Array.from({ length: 11 }, () => bucket.reserve()).indexOf(200)).toBe(10)
  })

  test('`acquire` of a bucket returns how long the caller has waited', async () => {
    const { clock, bucket } = make()
    for (let token = 0; token < 10; token += 1) bucket.reserve()
    const waits = [bucket.acquire(), bucket.acquire()]
    await clock.advance(1000)
    expect(await Promise.all(waits)).toEqual([200, 400])
    expect(await bucket.acquire()).toBe(0)
  })

  test('if a waiting caller of `acquire` cancels, the callers behind it move up in order', async () => {
    const { clock, bucket } = make()
    const { served, ask } = line(bucket, clock)
    for (let token = 0; token < 10; token += 1) bucket.reserve()
    const leaving = new AbortController()
    ask('a', leaving.signal)
    ask('b', leaving.signal)
    ask('c')
    await clock.advance(100)
    leaving.abort(new Error('gone'))
    ask('d')
    await clock.advance(1000)
    expect(served).toEqual(['a left@100', 'b left@100', 'c@200', 'd@400'])
  })

  test('a bucket keeps neither timer nor listener when all waiting callers have cancelled', async () => {
    const { clock, bucket } = make()
    for (let token = 0; token < 10; token += 1) bucket.reserve()
    const controller = new AbortController()
    const reason = new Error('shutting down')
    const takes = [bucket.acquire(controller.signal), bucket.acquire(controller.signal)]
    controller.abort(reason)
    expect(await Promise.allSettled(takes)).toEqual(takes.map(() => ({ status: 'rejected', reason })))
    expect([clock.pending, getEventListeners(controller.signal, 'abort').length]).toEqual([0, 0])
    expect(bucket.reserve()).toBe(200)
  })

  test('a bucket gives no token to a caller whose signal is already aborted', async () => {
    const { bucket } = make()
    const reason = new Error('too late')
    await expect(bucket.acquire(AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(Array.from({ length: 11 }, () => bucket.reserve()).indexOf(200)).toBe(10)
  })

  test('a bucket removes the abort listener of a caller that is served', async () => {
    const { clock, bucket } = make()
    for (let token = 0; token < 10; token += 1) bucket.reserve()
    const { signal } = new AbortController()
    const pending = bucket.acquire(signal)
    await clock.advance(200)
    await pending
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('a bucket serves a waiting caller before a later caller, even after the process was frozen', async () => {
    const { clock, bucket } = make()
    const { served, ask } = line(bucket, clock)
    for (let token = 0; token < 10; token += 1) bucket.reserve()
    ask('waiting')
    clock.schedule(100, () => ask('late'))
    await clock.freeze(5000)
    expect(served).toEqual(['waiting@5000', 'late@5000'])
  })
})

describe('a bucket', () => {
  test('a bucket with a burst of one token serves its callers at a fixed interval', async () => {
    const clock = new FakeClock()
    const bucket = new TokenBucket({ clock, qps: 0.1, burst: 1 })
    expect([bucket.reserve(), bucket.reserve(), bucket.reserve()]).toEqual([0, 10_000, 20_000])
  })

  test('callers of a bucket without a limit never wait', async () => {
    const clock = new FakeClock()
    const bucket = new TokenBucket({ clock, qps: Number.POSITIVE_INFINITY, burst: 1 })
    expect(new Set(Array.from({ length: 100 }, () => bucket.reserve()))).toEqual(new Set([0]))
    expect(await bucket.acquire()).toBe(0)
  })

  test.each([
    [0, 10],
    [-1, 10],
    [Number.NaN, 10],
    [5, 0],
    [5, Number.NaN],
    [5, Number.POSITIVE_INFINITY],
  ])('a bucket cannot be created with %d tokens a second and a burst of %d', (qps, burst) => {
    expect(() => new TokenBucket({ clock: new FakeClock(), qps, burst })).toThrow(InvariantError)
  })

  test('a bucket never serves more than burst + qps x time in any period, and serves its callers in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.record({ pause: fc.nat(400), leaves: fc.boolean() }), { maxLength: 30 }),
        async (qps, burst, takers) => {
          const clock = new FakeClock()
          const bucket = new TokenBucket({ clock, qps, burst })
          const served: { order: number; at: number }[] = []
          for (const [order, { pause, leaves }] of takers.entries()) {
            const controller = new AbortController()
            bucket.acquire(controller.signal).then(
              () => served.push({ order, at: clock.monotonic() }),
              () => {},
            )
            await clock.advance(pause)
            if (leaves) controller.abort(new Error('gone'))
          }
          await clock.advance(takers.length * 1000)
          expect(served.map(({ order }) => order)).toEqual(served.map(({ order }) => order).sort((a, b) => a - b))
          for (const [from, first] of served.entries()) {
            for (const [to, last] of served.entries()) {
              if (to < from) continue
              const allowed = burst + ((last.at - first.at) * qps) / 1000
              expect(to - from + 1).toBeLessThanOrEqual(allowed + 1e-6)
            }
          }
          expect(clock.pending).toBe(0)
        },
      ),
      { numRuns: 50 },
    )
  })
})
