import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { InvariantError } from './errors.ts'
import { Heap, type HeapItem, NOT_IN_HEAP } from './heap.ts'

interface Ranked extends HeapItem {
  rank: number
}

const ranked = (rank: number): Ranked => ({ rank, heapIndex: NOT_IN_HEAP })
const byRank = (): Heap<Ranked> => new Heap((a, b) => a.rank < b.rank)

function drain(heap: Heap<Ranked>): number[] {
  const ranks: number[] = []
  for (let item = heap.pop(); item !== undefined; item = heap.pop()) ranks.push(item.rank)
  return ranks
}

const sorted = (ranks: readonly number[]): number[] => [...ranks].sort((a, b) => a - b)

describe('a heap', () => {
  test('a heap returns undefined if it is empty', () => {
    expect([byRank().peek(), byRank().pop(), byRank().size]).toEqual([undefined, undefined, 0])
  })

  test('a heap returns its items in order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), (ranks) => {
        const heap = byRank()
        for (const rank of ranks) heap.push(ranked(rank))
        expect(heap.size).toBe(ranks.length)
        expect(drain(heap)).toEqual(sorted(ranks))
      }),
    )
  })

  test('a heap keeps its order after any pushes, pops, removals and changes of rank', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('push' as const), rank: fc.integer() }),
      fc.record({ kind: fc.constant('pop' as const) }),
      fc.record({ kind: fc.constant('remove' as const), pick: fc.nat() }),
      fc.record({ kind: fc.constant('update' as const), pick: fc.nat(), rank: fc.integer() }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const heap = byRank()
        const inside: Ranked[] = []
        const picked = (pick: number): Ranked | undefined => inside[pick % inside.length]
        const drop = (item: Ranked): void => {
          inside.splice(inside.indexOf(item), 1)
          expect(item.heapIndex).toBe(NOT_IN_HEAP)
        }
        for (const each of steps) {
          if (each.kind === 'push') {
            const item = ranked(each.rank)
            heap.push(item)
            inside.push(item)
          } else if (each.kind === 'pop') {
            const item = heap.pop()
            if (item !== undefined) drop(item)
          } else if (each.kind === 'remove') {
            const item = picked(each.pick)
            if (item === undefined) continue
            heap.remove(item)
            drop(item)
          } else {
            const item = picked(each.pick)
            if (item === undefined) continue
            item.rank = each.rank
            heap.update(item)
          }
          expect(heap.size).toBe(inside.length)
          expect(heap.peek()?.rank).toBe(sorted(inside.map(({ rank }) => rank))[0])
          expect(inside.every((item) => heap.has(item))).toBe(true)
        }
        expect(drain(heap)).toEqual(sorted(inside.map(({ rank }) => rank)))
      }),
    )
  })

  test('a heap stays in order when its last item fills the gap of a removed item', () => {
    const heap = byRank()
    const items = [0, 100, 1, 101, 102, 2, 3, 103, 104, 105, 106, 4, 5, 6, 20].map(ranked)
    for (const item of items) heap.push(item)
    for (const item of items) if (item.rank === 101) heap.remove(item)
    expect(drain(heap)).toEqual([0, 1, 2, 3, 4, 5, 6, 20, 100, 102, 103, 104, 105, 106])
  })

  test('a heap ignores the removal or the update of an item that it does not contain', () => {
    const [mine, other] = [byRank(), byRank()]
    const [low, high, foreign] = [ranked(1), ranked(2), ranked(0)]
    mine.push(low)
    mine.push(high)
    other.push(foreign)
    mine.remove(foreign)
    mine.update(foreign)
    mine.remove(ranked(7))
    expect([mine.has(foreign), other.has(foreign), foreign.heapIndex]).toEqual([false, true, 0])
    expect([drain(mine), drain(other)]).toEqual([[1, 2], [0]])
  })

  test('a heap refuses an item that another heap already contains', () => {
    const heap = byRank()
    const item = ranked(1)
    heap.push(item)
    expect(() => byRank().push(item)).toThrow(InvariantError)
    expect(() => heap.push(item)).toThrow(InvariantError)
  })
})
