import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { FifoOrder, reservedFor } from './fifo-order.ts'

test('keys start in the order in which they were pushed', () => {
  const order = new FifoOrder()
  for (const key of ['b', 'a']) order.push(key)
  order.touch('a')
  expect([order.length, order.pop(), order.pop(), order.pop(), order.length]).toEqual([2, 'b', 'a', undefined, 0])
})

test('normal keys start before retries, but every fourth started key is a retry', () => {
  const order = new FifoOrder()
  for (const key of ['l0', 'l1', 'l2', 'l3']) order.push(key, 'retry')
  for (const key of ['a', 'b', 'c', 'd']) order.push(key)
  expect(Array.from({ length: 8 }, () => order.pop()).join(' ')).toBe('a b c l0 d l1 l2 l3')
})

test('`touch` turns a waiting retry into a normal key', () => {
  const order = new FifoOrder()
  for (const key of ['l0', 'l1']) order.push(key, 'retry')
  order.push('a')
  order.touch('l1')
  order.touch('a')
  order.touch('unknown')
  expect([order.length, order.pop(), order.pop(), order.pop(), order.pop()]).toEqual([3, 'a', 'l1', 'l0', undefined])
})

function filled(...keys: readonly string[]): FifoOrder {
  const order = new FifoOrder()
  for (const key of keys) order.push(key)
  return order
}

function popAll(order: FifoOrder): string[] {
  const popped: string[] = []
  for (let key = order.pop(); key !== undefined; key = order.pop()) popped.push(key)
  return popped
}

test('preferred keys start first, in the order in which they were preferred', () => {
  const order = filled('a', 'b', 'c', 'd')
  for (const key of ['d', 'b', 'd']) order.prefer(key)
  expect([order.length, popAll(order)]).toEqual([4, ['d', 'b', 'a', 'c']])
})

test('`touch` does not move a preferred retry', () => {
  const order = filled('a')
  order.push('l0', 'retry')
  order.prefer('l0')
  order.touch('l0')
  expect(popAll(order)).toEqual(['l0', 'a'])
})

test('`prefer` has no effect on a key that is not in the queue', () => {
  const order = filled('a')
  order.prefer('b')
  order.push('b')
  expect(popAll(order)).toEqual(['a', 'b'])
})

test('after a preferred key has started, the queue treats the key as a normal key again', () => {
  const order = filled('a', 'b')
  order.prefer('b')
  expect(order.pop()).toBe('b')
  order.release('b')
  for (const key of ['c', 'b']) order.push(key)
  expect([order.length, popAll(order)]).toEqual([3, ['a', 'c', 'b']])
})

test('while retries occupy all workers, normal keys up to the reserve still start', () => {
  const order = new FifoOrder({ workers: 3, reserved: 2 })
  expect(order.capacity).toBe(5)
  for (const key of ['l0', 'l1', 'l2', 'l3']) order.push(key, 'retry')
  expect(popAll(order)).toEqual(['l0', 'l1', 'l2'])
  for (const key of ['a', 'b', 'c']) order.push(key)
  expect(popAll(order)).toEqual(['a', 'b'])
  order.release('a')
  expect(popAll(order)).toEqual(['c'])
  // More keys than workers are still in work, so the end of one retry makes no room for another key.
  order.release('l0')
  order.release('l1')
  expect(popAll(order)).toEqual([])
  order.release('l2')
  expect(popAll(order)).toEqual(['l3'])
})

test('the reserve stays unused while normal keys occupy all workers', () => {
  const order = new FifoOrder({ workers: 2, reserved: 1 })
  for (const key of ['a', 'b', 'c']) order.push(key)
  expect(popAll(order)).toEqual(['a', 'b'])
})

test('a preferred retry does not start on a worker that is reserved for normal keys', () => {
  const order = new FifoOrder({ workers: 1, reserved: 1 })
  for (const key of ['l0', 'l1']) order.push(key, 'retry')
  expect(popAll(order)).toEqual(['l0'])
  order.prefer('l1')
  order.push('a')
  expect(popAll(order)).toEqual(['a'])
})

test.each([
  [0, 0],
  [1, 0],
  [2, 1],
  [5, 2],
  [10, 4],
])('the reserve that `reservedFor` returns for %i workers is %i', (workers, reserved) => {
  expect(reservedFor(workers)).toBe(reserved)
})

test('no key starts if there are no workers', () => {
  const order = new FifoOrder({ workers: 0, reserved: 0 })
  order.push('a')
  expect([order.capacity, order.pop()]).toEqual([0, undefined])
})

test('in any order of calls, every pushed key is taken once and the capacity is never exceeded', () => {
  const [workers, reserved] = [2, 1]
  const step = fc.record({
    kind: fc.constantFrom('push', 'retry', 'touch', 'prefer', 'take', 'release'),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const order = new FifoOrder({ workers, reserved })
      const waiting = new Set<string>()
      const inWork = new Set<string>()
      for (const { kind, key } of steps) {
        if ((kind === 'push' || kind === 'retry') && !waiting.has(key) && !inWork.has(key)) {
          waiting.add(key)
          order.push(key, kind === 'retry' ? 'retry' : 'normal')
        }
        if (kind === 'touch') order.touch(key)
        if (kind === 'prefer') order.prefer(key)
        if (kind === 'release' && inWork.delete(key)) order.release(key)
        if (kind === 'take') {
          const popped = order.pop()
          if (popped === undefined) expect(waiting.size === 0 || inWork.size >= workers).toBe(true)
          else {
            expect(waiting.delete(popped)).toBe(true)
            inWork.add(popped)
          }
        }
        expect(order.length).toBe(waiting.size)
        expect(inWork.size).toBeLessThanOrEqual(order.capacity)
      }
    }),
  )
})

test('keys start in the order of their arrival, however many keys are pushed and taken', () => {
  const burst = fc.record({ come: fc.nat(3000), go: fc.nat(3000) })
  fc.assert(
    fc.property(fc.array(burst, { maxLength: 12 }), (bursts) => {
      const order = new FifoOrder()
      let [pushed, popped] = [0, 0]
      for (const { come, go } of bursts) {
        for (let key = 0; key < come; key += 1) order.push(`${pushed++}`)
        const got: (string | undefined)[] = []
        const expected: (string | undefined)[] = []
        for (let key = 0; key < go; key += 1) {
          got.push(order.pop())
          expected.push(popped < pushed ? `${popped++}` : undefined)
        }
        expect(got).toEqual(expected)
        expect(order.length).toBe(pushed - popped)
      }
    }),
    { numRuns: 20 },
  )
})
