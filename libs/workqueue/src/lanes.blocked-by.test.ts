import { expect, test } from '@jest/globals'
import { Lanes } from './lanes.ts'

test('`blockedBy` returns the group whose limit delays a waiting key', () => {
  const group = { group: 'volume a', max: 1 }
  const lanes = new Lanes({
    workers: 2,
    lanes: [{ reserved: 0 }],
    placementOf: (key) => ({ lane: 0, limits: key.startsWith('a') ? [group] : [] }),
  })
  for (const key of ['a1', 'a2', 'b1', 'b2']) lanes.push(key)
  expect([lanes.pop(), lanes.pop(), lanes.pop()]).toEqual(['a1', 'b1', undefined])
  expect(['a1', 'a2', 'b1', 'b2', 'none'].map((key) => lanes.blockedBy(key))).toEqual([
    undefined,
    'volume a',
    undefined,
    undefined,
    undefined,
  ])
  lanes.release('a1')
  expect(lanes.blockedBy('a2')).toBeUndefined()
})
