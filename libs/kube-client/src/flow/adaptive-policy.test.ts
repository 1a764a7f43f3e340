import { describe, expect, test } from '@jest/globals'
import { ADAPTIVE_LIMITS, AdaptivePolicy } from './adaptive-policy.ts'
import type { FlowOutcome } from './policy.ts'

const limits = { maxRate: 1000, minRate: 5, gain: 100, maxRunning: 3 }

describe('the rate', () => {
  test('starts at its best: a storm of 3000 writes takes less than two seconds', () => {
    const policy = new AdaptivePolicy(0)
    let now = 0
    for (let started = 0; started < 3000; started += 1) {
      for (let wait = policy.admit(now); wait > 0; wait = policy.admit(now)) now += wait
      policy.ended(now, now, 'done')
    }
    expect(now).toBeLessThan(2000)
  })

  test.each<[string, [now: number, startedAt: number, outcome: FlowOutcome][], number]>([
    ['a success changes nothing', [[10, 0, 'done']], 1000],
    ['a refusal halves it', [[10, 0, 'throttled']], 500],
    [
      'refusals of one volley halve it once',
      [
        [10, 0, 'throttled'],
        [11, 5, 'throttled'],
        [12, 9, 'throttled'],
      ],
      500,
    ],
    [
      'a refusal of a later request halves it again',
      [
        [10, 0, 'throttled'],
        [10, 10, 'throttled'],
      ],
      250,
    ],
    [
      'it never falls below the floor',
      Array.from({ length: 20 }, (): [number, number, FlowOutcome] => [10, 10, 'throttled']),
      5,
    ],
  ])('%s', (_, ends, rate) => {
    const policy = new AdaptivePolicy(0, limits)
    for (const [now, startedAt, outcome] of ends) policy.ended(now, startedAt, outcome)
    expect(Math.round(policy.rate)).toBe(rate)
  })

  test('recovers step by step, up to where it began', () => {
    const policy = new AdaptivePolicy(0, limits)
    policy.ended(0, 0, 'throttled')
    const rates = [1000, 2000, 60_000].map((now) => {
      policy.admit(now)
      policy.ended(now, now, 'done')
      return policy.rate
    })
    expect(rates).toEqual([600, 700, 1000])
  })
})

test('no more than so many run at a time; the end of one lets the next start', () => {
  const policy = new AdaptivePolicy(0, limits)
  expect([1, 2, 3, 4].map(() => policy.admit(0))).toEqual([0, 0, 0, Number.POSITIVE_INFINITY])
  policy.ended(0, 0, 'done')
  expect(policy.admit(0)).toBe(0)
})

test('what is to spare leaves half of the places to others', () => {
  const policy = new AdaptivePolicy(0, { ...limits, maxRunning: 4 })
  expect([1, 2, 3].map(() => policy.admitSpare(0))).toEqual([0, 0, Number.POSITIVE_INFINITY])
  expect(policy.admit(0)).toBe(0)
})

test('its floor is what the fixed bucket grants by default', () => {
  expect(ADAPTIVE_LIMITS.minRate).toBe(5)
})
