import { expect, test } from '@jest/globals'
import { samplerOf } from './sampler.ts'

const id = (last: string): string => last.padStart(32, '1')
const LOW = id('0000000000000001')
const MIDDLE = id('8000000000000000')
const HIGH = id('ffffffffffffffff')
const parent = (sampled: boolean) => ({ traceId: HIGH, spanId: '1111111111111111', sampled })

test.each([
  ['always_on', '', [true, true, true]],
  ['always_off', '', [false, false, false]],
  ['traceidratio', '', [true, true, true]],
  ['traceidratio', '1', [true, true, true]],
  ['traceidratio', '0', [false, false, false]],
  ['traceidratio', '0.5', [true, false, false]],
  ['traceidratio', '0.500001', [true, true, false]],
  ['parentbased_always_on', '', [true, true, true]],
  ['parentbased_always_off', '', [false, false, false]],
  ['parentbased_traceidratio', '0.5', [true, false, false]],
])('%s %s decides by the trace', (name, argument, expected) => {
  expect([LOW, MIDDLE, HIGH].map((traceId) => samplerOf(name, argument)?.(traceId, undefined))).toEqual(expected)
})

test.each(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'])(
  '%s follows a parent',
  (name) => {
    const sampler = samplerOf(name, '')
    expect([true, false].map((sampled) => sampler?.(MIDDLE, parent(sampled)))).toEqual([true, false])
  },
)

test('others do not', () => {
  expect(samplerOf('always_on', '')?.(MIDDLE, parent(false))).toBe(true)
  expect(samplerOf('always_off', '')?.(MIDDLE, parent(true))).toBe(false)
})

test.each([
  ['jaeger_remote', ''],
  ['', ''],
  ['parentbased_', ''],
  ['traceidratio', 'half'],
  ['traceidratio', '1.1'],
  ['traceidratio', '-0.1'],
  ['parentbased_traceidratio', 'NaN'],
])('%j with %j is none', (name, argument) => {
  expect(samplerOf(name, argument)).toBeUndefined()
})
