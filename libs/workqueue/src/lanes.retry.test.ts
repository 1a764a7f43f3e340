import { describe, expect, test } from '@jest/globals'
import { ATTACH, type LanesSetup, lanesOf, numbered, one } from './testing/lanes-setup.ts'

function pushRetries({ lanes }: Pick<LanesSetup, 'lanes'>, ...keys: readonly string[]): void {
  for (const key of keys) lanes.push(key, 'retry')
}

describe('a lane', () => {
  test('a lane starts normal keys before retries, even if many retries wait', () => {
    const { push, lanes, popAll, release } = lanesOf(1, [0, 0])
    for (const key of numbered('a', 1000)) lanes.push(key, 'retry')
    expect(popAll()).toEqual(['a0'])
    push('a-new')
    release('a0')
    expect(popAll()).toEqual(['a-new'])
  })

  test('every fourth key that a lane starts is a retry', () => {
    const { push, lanes, release } = lanesOf(1, [0, 0])
    for (const key of ['a-l0', 'a-l1', 'a-l2']) lanes.push(key, 'retry')
    push(...numbered('a', 6))
    const picks = Array.from({ length: 9 }, () => {
      const key = lanes.pop() ?? ''
      release(key)
      return key
    })
    expect(picks.join(' ')).toBe('a-l0 a0 a1 a2 a-l1 a3 a4 a5 a-l2')
  })

  test('a retry in a lane becomes a normal key when `touch` is called for it', () => {
    const { push, lanes, popAll } = lanesOf(4, [0, 0])
    for (const key of ['a-l0', 'a-l1', 'a-l2']) lanes.push(key, 'retry')
    push('a0')
    lanes.touch('a-l2')
    expect([lanes.length, popAll()]).toEqual([4, ['a-l0', 'a0', 'a-l2', 'a-l1']])
  })

  test('while retries occupy all workers, a lane starts normal keys up to its reserve', () => {
    const setup = lanesOf(10, [4, 0])
    pushRetries(setup, ...numbered('a-l', 20))
    expect(setup.popAll()).toEqual(numbered('a-l', 10))
    setup.push(...numbered('a', 6))
    expect(setup.popAll()).toEqual(numbered('a', 4))
    setup.release('a1')
    expect(setup.popAll()).toEqual(['a4'])
    // More keys than workers are still in work, so the end of one retry makes no room for another key.
    setup.release('a-l0')
    expect(setup.popAll()).toEqual([])
    setup.release('a-l1', 'a-l2', 'a-l3')
    expect(setup.popAll()).toEqual([])
    setup.release('a-l4')
    expect(setup.popAll()).toHaveLength(1)
  })

  test('a lane does not use the reserve of another lane while all workers are occupied', () => {
    const setup = lanesOf(2, [2, 2, 0])
    for (const key of ['e0', 'e1']) setup.place(key, 2)
    setup.push('e0', 'e1')
    expect(setup.popAll()).toEqual(['e0', 'e1'])
    pushRetries(setup, 'd-l0', 'd-l1')
    expect(setup.popAll()).toEqual(['d-l0', 'd-l1'])
    setup.push('d0')
    expect(setup.popAll()).toEqual([])
    setup.push('a0', 'a1', 'a2')
    expect(setup.popAll()).toEqual(['a0', 'a1'])
    setup.release('d-l0')
    expect(setup.popAll()).toEqual(['d0'])
  })

  test('while retries occupy all workers, the first try of an object starts before a retry of the same group', () => {
    const setup = lanesOf(4, [2, 0])
    for (const key of ['a-in', 'a-l-in', 'a-new']) setup.place(key, ATTACH, one('node'))
    setup.push('a-in')
    expect(setup.popAll()).toEqual(['a-in'])
    pushRetries(setup, 'a-l-in')
    setup.push('a-new')
    expect([setup.popAll(), setup.lanes.blockedBy('a-l-in'), setup.lanes.blockedBy('a-new')]).toEqual([
      [],
      'node',
      'node',
    ])
    pushRetries(setup, 'a-l0', 'a-l1', 'a-l2')
    expect(setup.popAll()).toEqual(['a-l0', 'a-l1', 'a-l2'])
    setup.push('a-other')
    expect(setup.popAll()).toEqual(['a-other'])
    setup.release('a-in')
    expect(setup.popAll()).toEqual(['a-new'])
  })
})
