import { InvariantError } from '@csi-sidecars/base'
import { describe, expect, test } from '@jest/globals'
import type { GroupLimit } from './lane.ts'
import { ATTACH, DETACH, type LanesSetup, lanesOf, numbered, one } from './testing/lanes-setup.ts'

describe('a lane', () => {
  test('a lane can use every worker while no other lane has keys', () => {
    const { lanes, push, popAll } = lanesOf(10, [4, 0])
    push(...numbered('d', 20))
    expect(popAll()).toEqual(numbered('d', 10))
    expect(lanes.length).toBe(10)
  })

  test('while other lanes occupy all workers, a lane still starts keys up to its reserve', () => {
    const { lanes, push, popAll, release } = lanesOf(10, [4, 0])
    push(...numbered('d', 20))
    popAll()
    push(...numbered('a', 20))
    expect(popAll()).toEqual(['a0', 'a1', 'a2', 'a3'])
    expect(lanes.capacity).toBe(14)
    release('a1')
    expect(popAll()).toEqual(['a4'])
    release('d0', 'd1', 'd2', 'd3')
    expect(popAll()).toEqual([])
    release('d4')
    expect(popAll()).toHaveLength(1)
  })

  test('a lane does not start more keys than there are workers while no other lane has keys', () => {
    const { push, popAll } = lanesOf(10, [4, 0])
    push(...numbered('a', 20))
    expect(popAll()).toEqual(numbered('a', 10))
  })

  test('a lane does not use the reserve of another lane that has waiting keys', () => {
    const { push, popAll, release } = lanesOf(4, [2, 0])
    push('d0', 'd1', 'd2', 'a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7', 'a8')
    expect(popAll()).toEqual(['a0', 'a1', 'a2', 'd0'])
    release('a0', 'a1', 'a2')
    expect(popAll()).toEqual(['a3', 'a4', 'a5'])
    release('a3', 'a4', 'a5')
    expect(popAll()).toEqual(['d1', 'a6', 'a7'])
    release('a6', 'a7')
    expect(popAll()).toEqual(['a8', 'd2'])
  })

  test('twenty attaches in the preferred lane start while a thousand detaches hang', () => {
    const { push, lanes, popAll, release } = lanesOf(10, [3, 0])
    push(...numbered('d', 1000))
    expect(popAll()).toHaveLength(10)
    const attached: string[] = []
    for (const key of numbered('a', 20)) {
      push(key)
      attached.push(...popAll())
      release(key)
    }
    expect(attached).toEqual(numbered('a', 20))
    expect(lanes.length).toBe(990)
  })

  test('hanging keys of the other lane leave the preferred lane as many workers as it has reserved', () => {
    const { push, popAll, release } = lanesOf(4, [2, 0])
    push(...numbered('d', 100), ...numbered('a', 100))
    const hanging: string[] = []
    for (let round = 0; round < 10; round += 1) {
      const started = popAll()
      hanging.push(...started.filter((key) => key.startsWith('d')))
      release(...started.filter((key) => key.startsWith('a')))
    }
    expect(hanging).toEqual(['d0', 'd1'])
  })

  test('the preferred lane starts three keys for each key of the other lane', () => {
    const { push, lanes, release } = lanesOf(1, [0, 0])
    push(...numbered('d', 10), ...numbered('a', 10))
    const picks: string[] = []
    for (let pick = 0; pick < 12; pick += 1) {
      const key = lanes.pop() ?? ''
      picks.push(key)
      release(key)
    }
    expect(picks.join(' ')).toBe('a0 a1 a2 d0 a3 a4 a5 d1 a6 a7 a8 d2')
  })

  test('a lane starts its keys in the order of their arrival', () => {
    const { push, popAll } = lanesOf(10, [0, 0])
    push('d2', 'd0', 'd1')
    expect(popAll()).toEqual(['d2', 'd0', 'd1'])
  })

  test('two lanes use their reserves while a third lane occupies all workers', () => {
    const { place, push, popAll } = lanesOf(5, [1, 1, 1])
    for (const [lane, letter] of ['a', 'd', 'x'].entries()) {
      for (const key of numbered(letter, 9)) place(key, lane)
    }
    push(...numbered('x', 9))
    expect(popAll()).toEqual(['x0', 'x1', 'x2', 'x3', 'x4'])
    push(...numbered('d', 9), ...numbered('a', 9))
    expect(popAll().sort()).toEqual(['a0', 'd0'])
  })

  test('no key of any lane starts if there are no workers', () => {
    const { push, lanes, popAll } = lanesOf(0, [1, 0])
    push('a0', 'd0')
    expect([popAll(), lanes.length]).toEqual([[], 2])
  })
})

describe('a group', () => {
  test('a group never has more running keys than its limit, and does not delay keys outside of the group', () => {
    const { place, push, popAll, lanes } = lanesOf(10, [0, 0])
    for (const key of ['a0', 'a1', 'a2']) place(key, ATTACH, { group: 'node-1', max: 2 })
    push('a0', 'a1', 'a2', 'a3', 'd0')
    expect(popAll()).toEqual(['a0', 'a1', 'a3', 'd0'])
    expect(lanes.length).toBe(1)
  })

  test('a group starts its waiting keys in the order of their arrival, before new keys', () => {
    const { place, push, popAll, release, lanes } = lanesOf(2, [0, 0])
    for (const key of ['a0', 'a1', 'a2']) place(key, ATTACH, one('volume'))
    push('a0', 'a1', 'a2')
    expect(popAll()).toEqual(['a0'])
    push('a3', 'a4')
    expect(lanes.pop()).toBe('a3')
    release('a0', 'a3')
    expect(popAll()).toEqual(['a1', 'a4'])
    release('a4', 'a1')
    expect(popAll()).toEqual(['a2'])
  })

  test('a key that belongs to several groups waits until all of them have room', () => {
    const { place, push, popAll, release } = lanesOf(10, [0, 0])
    place('a0', ATTACH, one('volume'))
    place('a1', ATTACH, one('node'))
    place('a2', ATTACH, one('volume'), one('node'))
    push('a0', 'a1', 'a2')
    expect(popAll()).toEqual(['a0', 'a1'])
    release('a0')
    expect(popAll()).toEqual([])
    release('a1')
    expect(popAll()).toEqual(['a2'])
  })

  test('a key that waits for one of its two groups does not delay keys of the other group', () => {
    const { place, push, popAll, release } = lanesOf(10, [0, 0])
    place('a0', ATTACH, one('volume'))
    place('a1', ATTACH, one('node'))
    place('a2', ATTACH, one('volume'), one('node'))
    place('a3', ATTACH, one('volume'))
    push('a0', 'a1', 'a2', 'a3')
    expect(popAll()).toEqual(['a0', 'a1'])
    release('a0')
    expect(popAll()).toEqual(['a3'])
  })

  test('a key starts before an earlier key of its group if the lane of the earlier key is full', () => {
    const { place, push, popAll, release } = lanesOf(2, [1, 0])
    for (const key of ['a0', 'd2', 'a1']) place(key, key === 'd2' ? DETACH : ATTACH, one('volume'))
    push('d0', 'd1')
    expect(popAll()).toEqual(['d0', 'd1'])
    push('a0')
    expect(popAll()).toEqual(['a0'])
    push('d2', 'a1')
    expect(popAll()).toEqual([])
    release('a0')
    expect(popAll()).toEqual(['a1'])
    release('a1', 'd0')
    expect(popAll()).toEqual(['d2'])
  })

  test('the limit of a group can change after the last key has left the group', () => {
    const { place, push, popAll, release } = lanesOf(10, [0, 0])
    for (const key of ['a0', 'a1']) place(key, ATTACH, one('node'))
    push('a0', 'a1')
    expect(popAll()).toEqual(['a0'])
    release('a0')
    expect(popAll()).toEqual(['a1'])
    release('a1')
    for (const key of ['a0', 'a1', 'a2']) place(key, ATTACH, { group: 'node', max: 2 })
    push('a0', 'a1', 'a2')
    expect(popAll()).toEqual(['a0', 'a1'])
  })
})

describe('group limits', () => {
  const alone = (group: string): GroupLimit => ({ group, max: 1 })
  const shared = (group: string): GroupLimit => ({ group, max: Number.POSITIVE_INFINITY })

  test('a key with exclusive use of a group never runs together with other keys of the group', () => {
    const { place, push, popAll, release } = lanesOf(10, [0, 0])
    for (const key of ['a0', 'a1', 'a3']) place(key, ATTACH, shared('volume'))
    place('a2', ATTACH, alone('volume'))
    push('a0', 'a1', 'a2')
    expect(popAll()).toEqual(['a0', 'a1'])
    release('a0')
    expect(popAll()).toEqual([])
    release('a1')
    expect(popAll()).toEqual(['a2'])
    push('a3')
    expect(popAll()).toEqual([])
    release('a2')
    expect(popAll()).toEqual(['a3'])
  })
})

describe('blocking keys', () => {
  /** Returns lanes in which `d0` blocks `a0` and `a1`, which need the volume alone. */
  const setup = (workers = 10): LanesSetup => {
    const made = lanesOf(workers, [0, 0])
    for (const key of ['a0', 'a1']) made.place(key, ATTACH, one('volume'))
    made.precede('d0', 'volume')
    return made
  }

  test('a key that blocks its group starts first, even if keys of the preferred lane arrived earlier', () => {
    const { push, popAll, release } = setup(1)
    push('a0', 'd0')
    expect(popAll()).toEqual(['d0'])
    release('d0')
    expect(popAll()).toEqual(['a0'])
  })

  test('a key that blocks its group delays the other keys of the group until its work ends', () => {
    const { push, popAll, release } = setup()
    push('d0')
    expect(popAll()).toEqual(['d0'])
    push('a0')
    expect(popAll()).toEqual([])
    release('d0')
    expect(popAll()).toEqual(['a0'])
  })

  test('a key that blocks a group does not wait for running or waiting keys of the group', () => {
    const { push, popAll, release } = setup()
    push('a0')
    expect(popAll()).toEqual(['a0'])
    push('a1', 'd0')
    expect(popAll()).toEqual(['d0'])
    release('a0')
    expect(popAll()).toEqual([])
    release('d0')
    expect(popAll()).toEqual(['a1'])
  })

  test('a key that begins to block another group no longer blocks its old group', () => {
    const { push, precede, lanes, popAll } = setup(1)
    push('a0', 'd0')
    precede('d0', 'other')
    lanes.touch('d0')
    expect(popAll()).toEqual(['a0'])
  })

  test('a key stops blocking its group when it changes to a lane in which it does not block', () => {
    const { push, place, popAll, release, lanes } = setup(1)
    place('a2', ATTACH)
    push('a2', 'a0', 'd0')
    expect(popAll()).toEqual(['a2'])
    place('d0', ATTACH)
    lanes.touch('d0')
    release('a2')
    expect(popAll()).toEqual(['a0'])
  })
})

test('`release` throws for a key that is not running, and `touch` ignores an unknown key', () => {
  const { lanes, push } = lanesOf(1, [0, 0])
  push('a0')
  lanes.touch('unknown')
  expect(() => lanes.release('a0')).toThrow(InvariantError)
  expect(() => lanes.release('unknown')).toThrow(InvariantError)
  expect(lanes.length).toBe(1)
})

test('`push` throws for a key of an unknown lane', () => {
  const { lanes, place } = lanesOf(1, [0, 0])
  place('a0', 2)
  expect(() => lanes.push('a0')).toThrow(InvariantError)
})
