import { FakeClock, TokenBucket } from '@csi-sidecars/base'
import { describe, expect, test } from '@jest/globals'
import { maxOf, overallBucket, perKeyExponential } from './rate-limiters.ts'

describe('the exponential limiter', () => {
  test('doubles the wait of a key with each failure, up to its limit', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    expect([1, 2, 3, 4, 5].map(() => limiter.when('a'))).toEqual([1000, 2000, 4000, 5000, 5000])
    expect(limiter.failures('a')).toBe(5)
  })

  test('counts each key by itself', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    limiter.when('a')
    expect([limiter.when('b'), limiter.failures('a'), limiter.failures('c')]).toEqual([1000, 1, 0])
  })

  test('starts afresh once a key is fine', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    limiter.when('a')
    limiter.when('a')
    limiter.forget('a')
    limiter.forget('never seen')
    expect([limiter.failures('a'), limiter.when('a')]).toEqual([0, 1000])
  })

  test('holds a key that fails for ever at its limit', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 300_000 })
    for (let failure = 0; failure < 3000; failure += 1) limiter.when('a')
    expect(limiter.when('a')).toBe(300_000)
  })
})

describe('the bucket limiter', () => {
  test('spreads the failures of all keys together', () => {
    const limiter = overallBucket(new TokenBucket({ clock: new FakeClock(), qps: 10, burst: 2 }))
    expect(['a', 'b', 'a', 'c'].map((key) => limiter.when(key))).toEqual([0, 0, 100, 200])
    limiter.forget('a')
    expect([limiter.failures('a'), limiter.when('a')]).toEqual([0, 300])
  })
})

describe('the strictest of several limiters', () => {
  test('asks all of them and takes the longest wait', () => {
    const limiter = maxOf(
      perKeyExponential({ baseMs: 50, maxMs: 1000 }),
      overallBucket(new TokenBucket({ clock: new FakeClock(), qps: 10, burst: 2 })),
    )
    expect(['a', 'a', 'a', 'a', 'a'].map((key) => limiter.when(key))).toEqual([50, 100, 200, 400, 800])
    expect(limiter.when('b')).toBe(400)
    expect([limiter.failures('a'), limiter.failures('b')]).toEqual([5, 1])
    limiter.forget('a')
    expect([limiter.failures('a'), limiter.when('a')]).toEqual([0, 500])
  })

  test('tells all of them that a key is fine', () => {
    const limiters = [1, 2].map(() => perKeyExponential({ baseMs: 50, maxMs: 1000 }))
    const limiter = maxOf(...limiters)
    limiter.when('a')
    limiter.forget('a')
    expect(limiters.map((each) => each.failures('a'))).toEqual([0, 0])
  })

  test('of none never waits', () => {
    expect([maxOf().when('a'), maxOf().failures('a')]).toEqual([0, 0])
  })
})
