import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Backoff, exponential } from './backoff.ts'

describe('exponential', () => {
  test.each([
    [1000, 300_000, 0, 1000],
    [1000, 300_000, 1, 2000],
    [1000, 300_000, 8, 256_000],
    [1000, 300_000, 9, 300_000],
    [1000, 300_000, 100_000, 300_000],
    [5000, 1000, 0, 1000],
    [0, 300_000, 0, 0],
    [0, 300_000, 5000, 0],
  ])('the back-off from %d ms to %d ms is, after %d failures, %d ms', (initialMs, maxMs, failures, expected) => {
    expect(exponential({ initialMs, maxMs }, failures)).toBe(expected)
  })

  test('a back-off uses the given growth factor instead of two', () => {
    expect([0, 1, 2, 3].map((failures) => exponential({ initialMs: 100, maxMs: 1000, factor: 3 }, failures))).toEqual([
      100, 300, 900, 1000,
    ])
  })

  test('the back-off never shrinks with more failures and never exceeds the maximum', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(1_000_000), fc.nat(5000), (initialMs, maxMs, failures) => {
        const wait = exponential({ initialMs, maxMs }, failures)
        expect(wait).toBeGreaterThanOrEqual(0)
        expect(wait).toBeLessThanOrEqual(maxMs)
        expect(exponential({ initialMs, maxMs }, failures + 1)).toBeGreaterThanOrEqual(wait)
      }),
    )
  })
})

describe('a back-off', () => {
  test('a back-off grows with each failure in a row and starts again after a success', () => {
    const backoff = new Backoff({ initialMs: 100, maxMs: 500 })
    expect([backoff.next(), backoff.next(), backoff.next(), backoff.next()]).toEqual([100, 200, 400, 500])
    expect(backoff.failures).toBe(4)
    backoff.reset()
    expect([backoff.failures, backoff.next()]).toEqual([0, 100])
  })

  test('a back-off adds jitter even to the longest wait', () => {
    const draws = [0, 0.5, 1]
    const backoff = new Backoff({ initialMs: 800, maxMs: 1000, jitter: 0.5, random: () => draws.shift() ?? 0 })
    expect([backoff.next(), backoff.next(), backoff.next()]).toEqual([800, 1250, 1500])
  })
})
