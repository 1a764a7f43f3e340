import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { FifoLine } from './line.ts'

test('keys leave in the order in which they came', () => {
  const line = new FifoLine()
  for (const key of ['b', 'a']) line.push(key)
  line.touch('a')
  expect([line.length, line.take(), line.take(), line.take(), line.length]).toEqual([2, 'b', 'a', undefined, 0])
})

test('whoever comes later lets the others go first, but for every fourth pick', () => {
  const line = new FifoLine()
  for (const key of ['l0', 'l1', 'l2', 'l3']) line.push(key, true)
  for (const key of ['a', 'b', 'c', 'd']) line.push(key)
  expect(Array.from({ length: 8 }, () => line.take()).join(' ')).toBe('a b c l0 d l1 l2 l3')
})

test('one that was to come later comes now when something happens to it', () => {
  const line = new FifoLine()
  for (const key of ['l0', 'l1']) line.push(key, true)
  line.push('a')
  line.touch('l1')
  line.touch('a')
  line.touch('unknown')
  expect([line.length, line.take(), line.take(), line.take(), line.take()]).toEqual([3, 'a', 'l1', 'l0', undefined])
})

test('what is removed has left, and may come again', () => {
  const line = new FifoLine()
  for (const key of ['a', 'b']) line.push(key)
  expect([line.remove('a'), line.remove('a'), line.length]).toEqual([true, false, 1])
  line.push('a', true)
  expect([line.take(), line.take(), line.take()]).toEqual(['b', 'a', undefined])
})

test('nothing is lost or moved, however many keys have come and gone', () => {
  const burst = fc.record({ come: fc.nat(3000), go: fc.nat(3000) })
  fc.assert(
    fc.property(fc.array(burst, { maxLength: 12 }), (bursts) => {
      const line = new FifoLine()
      let [pushed, taken] = [0, 0]
      for (const { come, go } of bursts) {
        for (let key = 0; key < come; key += 1) line.push(`${pushed++}`)
        const got: (string | undefined)[] = []
        const expected: (string | undefined)[] = []
        for (let key = 0; key < go; key += 1) {
          got.push(line.take())
          expected.push(taken < pushed ? `${taken++}` : undefined)
        }
        expect(got).toEqual(expected)
        expect(line.length).toBe(pushed - taken)
      }
    }),
    { numRuns: 20 },
  )
})
