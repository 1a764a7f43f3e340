import { expect, it } from '@jest/globals'
import { isStuck } from './stuck.ts'

const now = 1_000_000

it.each([
  ['for less than two minutes', 'retried', now - 119_999, false],
  ['for two minutes', 'retried', now - 120_000, true],
  ['for an unknown time', 'retried', undefined, true],
  ['and no retry helps', 'blocked', now, true],
  ['for a user who may never come', 'idle', 0, false],
] as const)('`isStuck` decides correctly about work that waits %s', (_, remedy, since, stuck) => {
  expect(isStuck(remedy, { since, now })).toBe(stuck)
})

it('`isStuck` uses the given age instead of two minutes', () => {
  expect(isStuck('retried', { since: now - 5_000, now, olderThanMs: 5_000 })).toBe(true)
  expect(isStuck('retried', { since: now - 200_000, now, olderThanMs: 300_000 })).toBe(false)
})
