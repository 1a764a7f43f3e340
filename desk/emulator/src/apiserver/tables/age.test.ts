import { expect, test } from '@jest/globals'
import { ageOf, duration } from './age.ts'

const S = 1000
const M = 60 * S
const H = 60 * M
const D = 24 * H
const Y = 365 * D

test.each([
  [-3 * S, '<invalid>'],
  [-1 * S, '0s'],
  [119 * S, '119s'],
  [2 * M, '2m'],
  [2 * M + 5 * S, '2m5s'],
  [10 * M + 5 * S, '10m'],
  [179 * M, '179m'],
  [3 * H + 20 * M, '3h20m'],
  [8 * H + 20 * M, '8h'],
  [47 * H, '47h'],
  [2 * D, '2d'],
  [3 * D + 4 * H, '3d4h'],
  [8 * D + 4 * H, '8d'],
  [2 * Y + 3 * D, '2y3d'],
  [9 * Y, '9y'],
])('a table prints the age of %p ms as %p', (ms, expected) => {
  expect(duration(ms)).toBe(expected)
})

test('a table shows the age of an object without a creation time as unknown', () => {
  expect(ageOf(undefined, 0)).toBe('<unknown>')
  expect(ageOf('1970-01-01T00:00:00Z', 5 * S)).toBe('5s')
})
