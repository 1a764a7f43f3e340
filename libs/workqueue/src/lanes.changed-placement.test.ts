import { describe, expect, test } from '@jest/globals'
import type { Placement } from './lane.ts'
import { Lanes } from './lanes.ts'
import { ATTACH, DETACH, lanesOf, one } from './testing/lanes-setup.ts'

describe('changed placement', () => {
  test('a waiting key that changes its lane goes to the end of the new lane', () => {
    const { place, push, lanes, popAll } = lanesOf(10, [0, 0])
    push('a0', 'a1', 'd0')
    place('a0', DETACH)
    lanes.touch('a0')
    expect(lanes.length).toBe(3)
    expect(popAll()).toEqual(['a1', 'd0', 'a0'])
  })

  test('a waiting key that changes its lane starts before keys that arrive in the new lane later', () => {
    const { place, push, lanes, popAll } = lanesOf(10, [0, 0])
    push('a0', 'd0')
    place('a0', DETACH)
    lanes.touch('a0')
    push('d1')
    expect(popAll()).toEqual(['d0', 'a0', 'd1'])
  })

  test('a key starts in its new lane even if `touch` is not called after the change', () => {
    const { place, push, popAll } = lanesOf(4, [0, 0])
    push('d0')
    place('d0', ATTACH)
    expect(popAll()).toEqual(['d0'])
  })

  test('a key that changes its lane no longer delays the next key of its group', () => {
    const { place, push, lanes, popAll, release } = lanesOf(10, [0, 0])
    for (const key of ['a0', 'a1', 'a2']) place(key, ATTACH, one('volume'))
    push('a0', 'a1', 'a2')
    popAll()
    place('a1', DETACH, one('volume'))
    lanes.touch('a1')
    release('a0')
    expect(popAll()).toEqual(['a2'])
    release('a2')
    expect(popAll()).toEqual(['a1'])
  })

  test('a key starts at once when it leaves the group that it waited for', () => {
    const { place, push, lanes, popAll } = lanesOf(10, [0, 0])
    for (const key of ['a0', 'a1']) place(key, ATTACH, one('volume'))
    push('a0', 'a1')
    expect(popAll()).toEqual(['a0'])
    place('a1', ATTACH, one('another'))
    lanes.touch('a1')
    expect(popAll()).toEqual(['a1'])
  })

  test('a key that leaves a group makes room for the next key of the group', () => {
    const { place, push, popAll, release } = lanesOf(10, [0, 0])
    for (const key of ['a0', 'a1', 'a2']) place(key, ATTACH, one('volume'))
    push('a0', 'a1', 'a2')
    expect(popAll()).toEqual(['a0'])
    release('a0')
    place('a1', ATTACH)
    expect(popAll()).toEqual(['a1', 'a2'])
  })

  test.each<[string, Placement, boolean]>([
    ['nothing', { lane: ATTACH, limits: [one('volume')], blocks: undefined }, true],
    ['its lane', { lane: DETACH, limits: [one('volume')] }, false],
    ['its group', { lane: ATTACH, limits: [one('other')] }, false],
    ['its limit', { lane: ATTACH, limits: [{ group: 'volume', max: 2 }] }, false],
    ['the number of its groups', { lane: ATTACH, limits: [] }, false],
    ['the group that it blocks', { lane: ATTACH, limits: [one('volume')], blocks: 'other' }, false],
  ])('`placementUnchanged` notices that a running key has changed %s', (_, placement, unchanged) => {
    let now: Placement = { lane: ATTACH, limits: [one('volume')] }
    const lanes = new Lanes({ workers: 1, lanes: [{ reserved: 0 }, { reserved: 0 }], placementOf: () => now })
    expect(lanes.placementUnchanged('a0')).toBe(false)
    lanes.push('a0')
    expect(lanes.placementUnchanged('a0')).toBe(false)
    lanes.pop()
    now = placement
    expect(lanes.placementUnchanged('a0')).toBe(unchanged)
  })

  test('a running key that has changed its lane counts in the old lane until it is released', () => {
    const { place, push, lanes, popAll, release } = lanesOf(1, [1, 0])
    push('d0')
    expect(popAll()).toEqual(['d0'])
    place('d0', ATTACH)
    lanes.touch('d0')
    push('a0', 'a1')
    expect(popAll()).toEqual(['a0'])
    release('a0')
    expect(popAll()).toEqual(['a1'])
    release('d0')
    expect(popAll()).toEqual([])
  })
})
