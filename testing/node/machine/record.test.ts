import { expect, it } from '@jest/globals'
import { startTimeIn } from './record.ts'

const REST = '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 98765 20 21'

it.each([
  [`12 (sh) S ${REST}`, '98765'],
  [`12 (a b) c) S ${REST}`, '98765'],
  [`12 (sh) Z ${REST}`, undefined],
])('the line %s has the start time %s', (line, expected) => {
  expect(startTimeIn(line)).toBe(expected)
})
