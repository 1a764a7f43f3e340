import { describe, expect, test } from '@jest/globals'
import { BucketPolicy } from './bucket-policy.ts'

/** How many requests a policy starts within `ms` when there is no end of them. */
function startedWithin(policy: BucketPolicy, ms: number): number {
  let now = 0
  for (let started = 0; ; started += 1) {
    for (let wait = policy.admit(now); wait > 0; wait = policy.admit(now)) {
      now += wait
      if (now > ms) return started
    }
  }
}

test.each([
  [5, 10, 0, 10],
  [5, 10, 199, 10],
  [5, 10, 200, 11],
  [5, 10, 60_000, 310],
  [0.5, 1, 3999, 2],
  [1000, 1000, 1000, 2000],
])('a rate of %d and a burst of %d start, within %d ms, exactly %d', (qps, burst, ms, count) => {
  expect(startedWithin(new BucketPolicy({ qps, burst, now: 0 }), ms)).toBe(count)
})

test('a pause saves up exactly the burst', () => {
  const policy = new BucketPolicy({ qps: 5, burst: 2, now: 0 })
  const startedAt = (now: number): number => {
    let started = 0
    while (policy.admit(now) === 0) started += 1
    return started
  }
  expect([startedAt(0), startedAt(200), startedAt(3_600_000)]).toEqual([2, 1, 2])
})

describe('what is to spare', () => {
  test('leaves half of the burst for others, and is there again as the bucket fills', () => {
    const policy = new BucketPolicy({ qps: 5, burst: 10, now: 0 })
    const spared = (now: number): number => {
      let started = 0
      while (policy.admitSpare(now) === 0) started += 1
      return started
    }
    expect([spared(0), spared(200), policy.admitSpare(200)]).toEqual([5, 1, 200])
    expect(policy.admit(200)).toBe(0)
  })

  test('admits a spare request with a burst of 1, and without a limit', () => {
    expect(new BucketPolicy({ qps: 5, burst: 1, now: 0 }).admitSpare(0)).toBe(0)
    expect(new BucketPolicy({ qps: -1, burst: 0, now: 0 }).admitSpare(0)).toBe(0)
  })
})

test('a negative rate never waits', () => {
  const policy = new BucketPolicy({ qps: -1, burst: 0, now: 0 })
  for (let i = 0; i < 1000; i += 1) expect(policy.admit(0)).toBe(0)
})
