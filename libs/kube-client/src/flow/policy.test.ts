import { expect, test } from '@jest/globals'
import { flowOptions } from './policy.ts'

test.each([
  ['no flags', {}, { kind: 'adaptive' }],
  ['a rate', { qps: 50 }, { kind: 'bucket', qps: 50, burst: 10, perGroup: false }],
  ['a burst', { burst: 50 }, { kind: 'bucket', qps: 5, burst: 50, perGroup: false }],
  ["upstream's defaults", { qps: 5, burst: 10 }, { kind: 'bucket', qps: 5, burst: 10, perGroup: false }],
  ['a rate of zero', { qps: 0 }, { kind: 'bucket', qps: 5, burst: 10, perGroup: true }],
  ['a rate and a burst of zero', { qps: 0, burst: 0 }, { kind: 'bucket', qps: 5, burst: 10, perGroup: true }],
  ['a negative rate', { qps: -1, burst: 0 }, { kind: 'bucket', qps: -1, burst: 0, perGroup: false }],
] as const)('the flags choose the flow control for %s', (_, flags, options) => {
  expect(flowOptions(flags)).toEqual(options)
})

test.each([0, -1])('a burst of %d is refused, because it would allow no requests', (burst) => {
  expect(() => flowOptions({ qps: 5, burst })).toThrow(
    new Error('burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0'),
  )
})
