import { beforeEach, describe, expect, test } from '@jest/globals'
import { AdaptivePolicy, BucketPolicy } from './adaptive-policy.ts'
import type { RoomAfterEnd } from './policy.ts'

const REFUSAL = { retryAfterMs: 1000 }

let policy: AdaptivePolicy
beforeEach(() => {
  policy = new AdaptivePolicy(16)
})

const start = (now: number, count = 1): void => {
  for (let started = 0; started < count; started += 1) expect(policy.admitOrWaitMs(now)).toBe(0)
}
const succeed = (startedAt: number, now = startedAt): RoomAfterEnd =>
  policy.recordEnd(now, { startedAt, outcome: 'done', waiting: 0 })
const refuse = (startedAt: number, now = startedAt, waiting = 1): RoomAfterEnd =>
  policy.recordEnd(now, { startedAt, outcome: REFUSAL, waiting })

test('at the limit of parallel requests, a request starts only when another request ends', () => {
  start(0, 16)
  expect(policy.admitOrWaitMs(0)).toBe(Number.POSITIVE_INFINITY)
  succeed(0)
  expect(policy.admitOrWaitMs(0)).toBe(0)
})

describe('a refusal', () => {
  test('many refusals of simultaneous requests halve the limit of parallel requests only once', () => {
    start(0, 12)
    refuse(0, 10)
    for (let more = 0; more < 11; more += 1) refuse(0, 11)
    expect(policy.limit).toBe(6)
  })

  test('later refusals halve the limit of parallel requests again, but never below one', () => {
    const limits = [16, 8, 4, 2, 1].map((count, round) => {
      start(1000 * round, count)
      for (let ended = 0; ended < count; ended += 1) refuse(1000 * round, 1000 * round + 1)
      return policy.limit
    })
    expect(limits).toEqual([8, 4, 2, 1, 1])
  })

  test('a success lets refused requests retry early, but another refusal does not', () => {
    start(0, 2)
    expect([refuse(0, 1), succeed(0, 2)]).toEqual(['unknown', 'hasRoom'])
  })
})

describe('successes', () => {
  test('each round of at least five successes raises the limit of parallel requests by one', () => {
    start(0, 6)
    refuse(0, 1)
    for (let ended = 0; ended < 5; ended += 1) succeed(0, 2)
    expect(policy.limit).toBe(4)
    for (let round = 0; round < 100; round += 1) {
      start(10)
      succeed(10)
    }
    expect(policy.limit).toBe(15)
  })

  test('each success raises the limit of parallel requests by one until the first refusal', () => {
    policy = new AdaptivePolicy()
    start(0, 16)
    for (let ended = 0; ended < 16; ended += 1) succeed(0)
    expect(policy.limit).toBe(32)
  })

  test('successes never raise the limit of parallel requests above the maximum', () => {
    for (let round = 0; round < 100; round += 1) {
      start(0)
      succeed(0)
    }
    expect(policy.limit).toBe(16)
  })
})

describe('pauses', () => {
  /** Starts and refuses requests one after the other. Returns how long each request had to wait. */
  const refusedInRow = (count: number, waiting = 1): number[] => {
    const waits: number[] = []
    let now = 0
    for (let tried = 0; tried < count; tried += 1) {
      const wait = policy.admitOrWaitMs(now)
      waits.push(wait)
      now += wait
      if (wait > 0) start(now)
      refuse(now, now, waiting)
    }
    return waits
  }

  test('refusals in a row double the pause before the next request, up to the Retry-After', () => {
    expect(refusedInRow(10)).toEqual([0, 10, 20, 40, 80, 160, 320, 640, 1000, 1000])
  })

  test('the pause between requests is at most the Retry-After divided by the number of waiting requests', () => {
    expect(refusedInRow(7, 20)).toEqual([0, 10, 20, 40, 50, 50, 50])
    expect(policy.limit).toBe(1)
  })

  test('each success shortens the pause between requests, until no pause is left', () => {
    refusedInRow(8)
    let now = 10_000
    const pauses = [1, 2, 3, 4, 5, 6].map(() => {
      start(now)
      succeed(now)
      const pause = policy.admitOrWaitMs(now)
      if (pause === 0) succeed(now)
      now += 1000
      return pause
    })
    expect(pauses).toEqual([10, 10, 10, 10, 0, 0])
  })
})

test('requests of priority `background` use at most half of the parallel requests', () => {
  policy = new AdaptivePolicy(4)
  expect([1, 2, 3].map(() => policy.admitInBackgroundOrWaitMs(0))).toEqual([0, 0, Number.POSITIVE_INFINITY])
  expect(policy.admitOrWaitMs(0)).toBe(0)
})

/** Simulates a server that carries out `seats` requests at a time, and workers that send one request after another. */
function simulate({
  seats,
  workers,
  requests,
  restMs = 0,
}: Record<'seats' | 'workers' | 'requests', number> & { restMs?: number }) {
  policy = new AdaptivePolicy()
  const running: { startedAt: number; endsAt: number; hasSeat: boolean }[] = []
  let [now, left, answers, refusals] = [0, requests, 0, 0]
  let seatsFreeAt = Array.from({ length: seats }, () => 0)
  while (answers < requests) {
    for (
      let end = running.find(({ endsAt }) => endsAt <= now);
      end !== undefined;
      end = running.find(({ endsAt }) => endsAt <= now)
    ) {
      running.splice(running.indexOf(end), 1)
      const waiting = Math.min(left, workers) + 1
      policy.recordEnd(now, { startedAt: end.startedAt, outcome: end.hasSeat ? 'done' : REFUSAL, waiting })
      if (end.hasSeat) answers += 1
      else {
        refusals += 1
        left += 1
      }
    }
    while (left > 0 && running.length < workers && policy.admitOrWaitMs(now) === 0) {
      left -= 1
      const seat = seatsFreeAt.findIndex((freeAt) => freeAt <= now)
      if (seat >= 0) seatsFreeAt = seatsFreeAt.with(seat, now + 10 + restMs)
      running.push({ startedAt: now, endsAt: now + (seat < 0 ? 1 : 10), hasSeat: seat >= 0 })
    }
    now += 1
  }
  return { ms: now, refusals }
}

test.each([
  [1, 10, 0],
  [3, 10, 0],
  [10, 10, 0],
  [1, 100, 0],
  [3, 100, 0],
  [10, 100, 0],
  [1, 10, 8],
])('with %d server seats and %d workers, most seats are busy and few requests refused', (seats, workers, restMs) => {
  const requests = 1000
  const { ms, refusals } = simulate({ seats, workers, requests, restMs })
  expect(ms).toBeLessThan(((10 + restMs) * requests * 1.6) / seats)
  expect(refusals).toBeLessThan(requests / 4)
})

/** Returns how many requests a policy starts within `ms` if requests are always waiting. */
function startedWithin(policy: BucketPolicy, ms: number): number {
  let now = 0
  for (let started = 0; ; started += 1) {
    for (let wait = policy.admitOrWaitMs(now); wait > 0; wait = policy.admitOrWaitMs(now)) {
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
])('a limit of %d requests a second with a burst of %d allows within %d ms %d requests', (qps, burst, ms, count) => {
  expect(startedWithin(new BucketPolicy({ qps, burst, now: 0 }), ms)).toBe(count)
})

test('an idle rate bucket fills up exactly to its burst', () => {
  const policy = new BucketPolicy({ qps: 5, burst: 2, now: 0 })
  const startedAt = (now: number): number => {
    let started = 0
    while (policy.admitOrWaitMs(now) === 0) started += 1
    return started
  }
  expect([startedAt(0), startedAt(200), startedAt(3_600_000)]).toEqual([2, 1, 2])
})

describe('requests of priority `background`', () => {
  test('requests of priority `background` use at most half of the burst', () => {
    const policy = new BucketPolicy({ qps: 5, burst: 10, now: 0 })
    const spared = (now: number): number => {
      let started = 0
      while (policy.admitInBackgroundOrWaitMs(now) === 0) started += 1
      return started
    }
    expect([spared(0), spared(200), policy.admitInBackgroundOrWaitMs(200)]).toEqual([5, 1, 200])
    expect(policy.admitOrWaitMs(200)).toBe(0)
  })

  test('a request of priority `background` starts at once with a burst of one or without a rate limit', () => {
    expect(new BucketPolicy({ qps: 5, burst: 1, now: 0 }).admitInBackgroundOrWaitMs(0)).toBe(0)
    expect(new BucketPolicy({ qps: -1, burst: 0, now: 0 }).admitInBackgroundOrWaitMs(0)).toBe(0)
  })
})

test('a negative rate limit never delays a request', () => {
  const policy = new BucketPolicy({ qps: -1, burst: 0, now: 0 })
  for (let i = 0; i < 1000; i += 1) expect(policy.admitOrWaitMs(0)).toBe(0)
})
