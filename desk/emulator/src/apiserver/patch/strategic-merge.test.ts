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
  ['a new list item is inserted in front', { keyed }, { keyed: [{ k: 'c' }] }, { keyed: [{ k: 'c' }, ...keyed] }],
  ['a list item merges in place', { keyed }, { keyed: [{ k: 'b', w: 3 }] }, { keyed: [A, { k: 'b', v: 2, w: 3 }] }],
  ['`$patch: delete` deletes a list item', { keyed }, { keyed: [{ $patch: 'delete', k: 'a' }] }, { keyed: [B] }],
  ['a directive replaces a list', { keyed }, { keyed: [{ $patch: 'replace' }, { k: 'z' }] }, { keyed: [{ k: 'z' }] }],
  [
    '`$setElementOrder` sorts the named items, and any other item stays before its successor',
    { keyed },
    { '$setElementOrder/keyed': [{ k: 'b' }, { k: 'c' }], keyed: [{ k: 'c' }] },
    { keyed: [A, B, { k: 'c' }] },
  ],
  ['a set gets each value once', { set: ['a', 'b'] }, { set: ['b', 'c'] }, { set: ['a', 'b', 'c'] }],
  ['values are deleted from a set', { set: ['a', 'b'] }, { '$deleteFromPrimitiveList/set': ['a'] }, { set: ['b'] }],
  ['a list without a strategy is replaced', { other: [1, 2] }, { other: [3] }, { other: [3] }],
  ['null removes a field, even a missing one', { a: 1 }, { a: null, b: { c: null } }, { b: {} }],
  ['`$patch: replace` replaces a map', { m: { a: 1 } }, { m: { $patch: 'replace', b: 2 } }, { m: { b: 2 } }],
  ['`$patch: delete` empties a map', { m: { a: 1 } }, { m: { $patch: 'delete' } }, { m: {} }],
  ['only retained keys stay', { m: { a: 1, b: 2 } }, { m: { $retainKeys: ['b', 'c'], c: 3 } }, { m: { b: 2, c: 3 } }],
  ['a directive in a new map has no effect', {}, { m: { $patch: 'delete', a: 1 } }, { m: { a: 1 } }],
])('strategic merge patch: %s', (_name, target, patch, expected) => {
  expect(applyStrategicMerge(target, patch, rules)).toEqual(expected)
})

test('the error about a list item without its merge key prints the item as Go prints it', () => {
  expect(() => applyStrategicMerge({ keyed }, { keyed: [{ v: [1, null], u: { a: 'b' } }] }, rules)).toThrow(
    'map: map[u:map[a:b] v:[1 <nil>]] does not contain declared merge key: k',
  )
})

test('a strategic merge patch with an unknown `$patch` directive is refused', () => {
  expect(() => applyStrategicMerge({ m: {} }, { m: { $patch: 'spin' } }, rules)).toThrow(
    'Unknown patch type found: spin',
  )
})
