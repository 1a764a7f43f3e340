import { describe, expect, test } from '@jest/globals'
import { perKeyExponential } from './rate-limiter.ts'

describe('the exponential limiter', () => {
  test('doubles the wait of a key with each failure, up to its limit', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    expect([1, 2, 3, 4, 5].map(() => limiter.when('a'))).toEqual([1000, 2000, 4000, 5000, 5000])
  })

  test('counts each key by itself', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    limiter.when('a')
    expect([limiter.when('b'), limiter.when('a'), limiter.when('c')]).toEqual([1000, 2000, 1000])
  })

  test('starts again once a key has succeeded', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    limiter.when('a')
    limiter.when('a')
    limiter.forget('a')
    limiter.forget('never seen')
    expect(limiter.when('a')).toBe(1000)
  })

  test('lists the keys that have failed', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
    for (const key of ['a', 'b', 'a', 'c']) limiter.when(key)
    limiter.forget('b')
    expect([...limiter.failed()]).toEqual(['a', 'c'])
  })

  test('keeps the wait of a key that fails for ever at the limit', () => {
    const limiter = perKeyExponential({ baseMs: 1000, maxMs: 300_000 })
    for (let failure = 0; failure < 3000; failure += 1) limiter.when('a')
    expect(limiter.when('a')).toBe(300_000)
  })
})
