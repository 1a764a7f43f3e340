import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { FifoLine } from './line.ts'

test('keys leave in the order in which they came', () => {
  const line = new FifoLine()
  for (const key of ['b', 'a']) line.push(key)
  line.touch()
  expect([line.length, line.take(), line.take(), line.take(), line.length]).toEqual([2, 'b', 'a', undefined, 0])
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
