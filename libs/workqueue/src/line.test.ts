import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { FifoLine, reservedOf } from './line.ts'

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

function filled(...keys: readonly string[]): FifoLine {
  const line = new FifoLine()
  for (const key of keys) line.push(key)
  return line
}

function takeAll(line: FifoLine): string[] {
  const taken: string[] = []
  for (let key = line.take(); key !== undefined; key = line.take()) taken.push(key)
  return taken
}

test('what is preferred comes next, in the order in which it was preferred', () => {
  const line = filled('a', 'b', 'c', 'd')
  for (const key of ['d', 'b', 'd']) line.prefer(key)
  expect([line.length, takeAll(line)]).toEqual([4, ['d', 'b', 'a', 'c']])
})

test('one that was to come later and is preferred keeps its place when something happens to it', () => {
  const line = filled('a')
  line.push('l0', true)
  line.prefer('l0')
  line.touch('l0')
  expect(takeAll(line)).toEqual(['l0', 'a'])
})

test('a key that does not wait is not preferred later either', () => {
  const line = filled('a')
  line.prefer('b')
  line.push('b')
  expect(takeAll(line)).toEqual(['a', 'b'])
})

test('a key that was preferred and comes again stands at its new place only', () => {
  const line = filled('a', 'b')
  line.prefer('b')
  expect(line.take()).toBe('b')
  line.release('b')
  for (const key of ['c', 'b']) line.push(key)
  expect([line.length, takeAll(line)]).toEqual([3, ['a', 'c', 'b']])
})

test('newcomers start beyond the workers while those that come later occupy all, and no others', () => {
  const line = new FifoLine({ workers: 3, reserved: 2 })
  expect(line.capacity).toBe(5)
  for (const key of ['l0', 'l1', 'l2', 'l3']) line.push(key, true)
  expect(takeAll(line)).toEqual(['l0', 'l1', 'l2'])
  for (const key of ['a', 'b', 'c']) line.push(key)
  expect(takeAll(line)).toEqual(['a', 'b'])
  line.release('a')
  expect(takeAll(line)).toEqual(['c'])
  // One that ends makes no more room than there was.
  line.release('l0')
  line.release('l1')
  expect(takeAll(line)).toEqual([])
  line.release('l2')
  expect(takeAll(line)).toEqual(['l3'])
})

test('newcomers that occupy all workers keep others waiting', () => {
  const line = new FifoLine({ workers: 2, reserved: 1 })
  for (const key of ['a', 'b', 'c']) line.push(key)
  expect(takeAll(line)).toEqual(['a', 'b'])
})

test('a preferred key that comes back by itself does not start beyond the workers', () => {
  const line = new FifoLine({ workers: 1, reserved: 1 })
  for (const key of ['l0', 'l1']) line.push(key, true)
  expect(takeAll(line)).toEqual(['l0'])
  line.prefer('l1')
  line.push('a')
  expect(takeAll(line)).toEqual(['a'])
})

test.each([
  [0, 0],
  [1, 0],
  [2, 1],
  [5, 2],
  [10, 4],
])('of %i workers %i are reserved', (workers, reserved) => {
  expect(reservedOf(workers)).toBe(reserved)
})

test('without workers nothing starts', () => {
  const line = new FifoLine({ workers: 0, reserved: 0 })
  line.push('a')
  expect([line.capacity, line.take()]).toEqual([0, undefined])
})

test('whatever happens, every key that was pushed is taken once, and never more than may be are in work', () => {
  const [workers, reserved] = [2, 1]
  const step = fc.record({
    do: fc.constantFrom('push', 'later', 'touch', 'prefer', 'take', 'release'),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = new FifoLine({ workers, reserved })
      const waiting = new Set<string>()
      const inWork = new Set<string>()
      for (const { do: what, key } of steps) {
        if ((what === 'push' || what === 'later') && !waiting.has(key) && !inWork.has(key)) {
          waiting.add(key)
          line.push(key, what === 'later')
        }
        if (what === 'touch') line.touch(key)
        if (what === 'prefer') line.prefer(key)
        if (what === 'release' && inWork.delete(key)) line.release(key)
        if (what === 'take') {
          const taken = line.take()
          if (taken === undefined) expect(waiting.size === 0 || inWork.size >= workers).toBe(true)
          else {
            expect(waiting.delete(taken)).toBe(true)
            inWork.add(taken)
          }
        }
        expect(line.length).toBe(waiting.size)
        expect(inWork.size).toBeLessThanOrEqual(line.capacity)
      }
    }),
  )
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
