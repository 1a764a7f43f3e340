import { expect, test } from '@jest/globals'
import type { Json } from '../schema/json.ts'
import { applyJsonPatch } from './json-patch.ts'
import { applyMergePatch } from './merge-patch.ts'

const document: Json = { a: [1, 2], b: { c: null }, 'x/y': 1 }

test.each<[Json, Json]>([
  [[{ op: 'add', path: '/a/-', value: 3 }], { ...document, a: [1, 2, 3] }],
  [[{ op: 'add', path: '/a/0', value: 0 }], { ...document, a: [0, 1, 2] }],
  [[{ op: 'replace', path: '/a/-1', value: 9 }], { ...document, a: [1, 9] }],
  [[{ op: 'remove', path: '/x~1y' }], { a: [1, 2], b: { c: null } }],
  [[{ op: 'test', path: '/b/nothing', value: null }], document],
  [[{ op: 'test', path: '/b', value: { c: null } }], document],
  [[{ op: 'copy', from: '/nothing', path: '/d' }], { ...document, d: null }],
  [[{ op: 'replace', path: '', value: 5 }], 5],
  [[{ op: 'replace', path: '/d', value: 1 }], { ...document, d: 1 }],
  [[{ op: 'add', path: '/d' }], { ...document, d: null }],
])('the emulator applies the JSON patch %j', (patch, expected) => {
  expect(applyJsonPatch(document, patch)).toEqual(expected)
})

test.each<[Json]>([
  [[{ op: 'test', path: '/a', value: [2, 1] }]],
  [[{ op: 'remove', path: '/nothing' }]],
  [[{ op: 'replace', path: '/d/b', value: 1 }]],
  [[{ op: 'add', path: '/a/01', value: 1 }]],
  [[{ op: 'add', path: '/a/3', value: 1 }]],
  [[{ op: 'add', path: '/a/x', value: 1 }]],
  [[{ op: 'move', from: '/nothing', path: '/b/d' }]],
  [[{ op: 'fly', path: '/a' }]],
  [[{ op: 'remove', path: '' }]],
])('the emulator refuses the JSON patch %j, and gives no reason', (patch) => {
  expect(() => applyJsonPatch(document, patch)).toThrow(
    'the server rejected our request due to an error in our request',
  )
})

test('the emulator refuses a JSON patch with more than 10,000 operations', () => {
  const patch = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/nowhere' }))
  expect(() => applyJsonPatch(document, patch)).toThrow('maximum operations in a JSON patch is 10000, got 10001')
})

test('a JSON patch never changes the document that is passed in', () => {
  const before = JSON.stringify(document)
  applyJsonPatch(document, [{ op: 'add', path: '/a/0', value: 0 }])
  applyMergePatch(document, { a: null, b: { c: 1 } })
  expect(JSON.stringify(document)).toBe(before)
})

test.each<[Json, Json]>([
  [{ a: null }, { b: { c: null }, 'x/y': 1 }],
  [{ b: { d: 1 } }, { ...document, b: { c: null, d: 1 } }],
  [{ a: { e: null, f: 1 } }, { ...document, a: { f: 1 } }],
  [
    JSON.parse('{"__proto__":{"g":1}}') as Json,
    JSON.parse('{"a":[1,2],"b":{"c":null},"x/y":1,"__proto__":{"g":1}}') as Json,
  ],
])('the emulator applies the merge patch %j', (patch, expected) => {
  const result = applyMergePatch(document, patch)
  expect(JSON.stringify(result)).toBe(JSON.stringify(expected))
  expect(Reflect.get(Object.create(null), 'g')).toBeUndefined()
})

// The examples of RFC 7396, appendix A.
test.each<[target: Json, patch: Json, result: Json]>([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('the emulator merges the target %j with the patch %j into %j', (target, patch, result) => {
  expect(applyMergePatch(target, patch)).toStrictEqual(result)
})
