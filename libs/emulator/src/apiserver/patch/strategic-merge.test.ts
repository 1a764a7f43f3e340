import { expect, test } from '@jest/globals'
import type { Json } from '../schema/json.ts'
import { applyStrategicMerge, type ListRules } from './strategic-merge.ts'

const rules: ListRules = ([name]) => {
  if (name === 'keyed') return { key: 'k' }
  return name === 'set' ? { key: undefined } : undefined
}

const A = { k: 'a', v: 1 }
const B = { k: 'b', v: 2 }
const keyed = [A, B]

test.each<[string, Json, Json, Json]>([
  ['a new item goes in front', { keyed }, { keyed: [{ k: 'c' }] }, { keyed: [{ k: 'c' }, ...keyed] }],
  ['an item merges in its place', { keyed }, { keyed: [{ k: 'b', w: 3 }] }, { keyed: [A, { k: 'b', v: 2, w: 3 }] }],
  ['an item is deleted', { keyed }, { keyed: [{ $patch: 'delete', k: 'a' }] }, { keyed: [B] }],
  ['the list is replaced', { keyed }, { keyed: [{ $patch: 'replace' }, { k: 'z' }] }, { keyed: [{ k: 'z' }] }],
  [
    'the order is set, items that the patch does not name stay in front of the same item',
    { keyed },
    { '$setElementOrder/keyed': [{ k: 'b' }, { k: 'c' }], keyed: [{ k: 'c' }] },
    { keyed: [A, B, { k: 'c' }] },
  ],
  ['values are added once', { set: ['a', 'b'] }, { set: ['b', 'c'] }, { set: ['a', 'b', 'c'] }],
  ['values are deleted', { set: ['a', 'b'] }, { '$deleteFromPrimitiveList/set': ['a'] }, { set: ['b'] }],
  ['another list is replaced', { other: [1, 2] }, { other: [3] }, { other: [3] }],
  ['null removes, also where nothing is', { a: 1 }, { a: null, b: { c: null } }, { b: {} }],
  ['a map is replaced', { m: { a: 1 } }, { m: { $patch: 'replace', b: 2 } }, { m: { b: 2 } }],
  ['a map is emptied', { m: { a: 1 } }, { m: { $patch: 'delete' } }, { m: {} }],
  ['only some keys stay', { m: { a: 1, b: 2 } }, { m: { $retainKeys: ['b', 'c'], c: 3 } }, { m: { b: 2, c: 3 } }],
  ['a new map takes its fields, with any directive', {}, { m: { $patch: 'delete', a: 1 } }, { m: { a: 1 } }],
])('%s', (_name, target, patch, expected) => {
  expect(applyStrategicMerge(target, patch, rules)).toEqual(expected)
})

test('an item without its key is refused with the map as Go prints it', () => {
  expect(() => applyStrategicMerge({ keyed }, { keyed: [{ v: [1, null], u: { a: 'b' } }] }, rules)).toThrow(
    'map: map[u:map[a:b] v:[1 <nil>]] does not contain declared merge key: k',
  )
})

test('a directive that does not exist is refused', () => {
  expect(() => applyStrategicMerge({ m: {} }, { m: { $patch: 'spin' } }, rules)).toThrow(
    'Unknown patch type found: spin',
  )
})
