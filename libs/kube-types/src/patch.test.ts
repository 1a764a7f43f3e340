import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { isJsonObject } from './meta.ts'
import { addFinalizerPatch, mergePatchOf, removeFinalizerPatch } from './patch.ts'

describe('mergePatchOf', () => {
  it.each<[name: string, before: object, after: object, patch: object]>([
    ['equal objects need no change', { a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 }, {}],
    ['a new field is added', {}, { status: { attached: true } }, { status: { attached: true } }],
    ['only the deepest change is sent', { a: { b: 1, c: 2 }, d: 3 }, { a: { b: 1, c: 4 }, d: 3 }, { a: { c: 4 } }],
    [
      'a removed field is null',
      { status: { attachError: { message: 'x' } } },
      { status: {} },
      { status: { attachError: null } },
    ],
    ['undefined counts as absent', { a: 1 }, { a: undefined, b: undefined }, { a: null }],
    ['null counts as absent', { a: null, b: 1 }, { b: null }, { b: null }],
    [
      'a replaced map loses its old keys',
      { attachmentMetadata: { old: '1', same: '2' } },
      { attachmentMetadata: { same: '2', new: '3' } },
      { attachmentMetadata: { old: null, new: '3' } },
    ],
    ['a list is written whole', { finalizers: ['a'] }, { finalizers: ['a', 'b'] }, { finalizers: ['a', 'b'] }],
    ['a map replaces a list', { a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
    ['false and empty text are values', { a: true, b: 'x' }, { a: false, b: '' }, { a: false, b: '' }],
  ])('`mergePatchOf` returns the smallest merge patch: %s', (_what, before, after, patch) => {
    expect(mergePatchOf(before, after)).toStrictEqual(patch)
  })

  it('`mergePatchOf` treats names such as `__proto__` as ordinary keys', () => {
    const before = JSON.parse('{"annotations":{"__proto__":"x","constructor":"y"}}')
    const after = JSON.parse('{"annotations":{"__proto__":"z"}}')
    const patch = mergePatchOf(before, after)
    expect(JSON.stringify(patch)).toBe('{"annotations":{"__proto__":"z","constructor":null}}')
    expect(JSON.stringify(applied(before, patch))).toBe('{"annotations":{"__proto__":"z"}}')
  })

  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.integer(),
      fc.string(),
      fc.boolean(),
      fc.array(fc.integer()),
      tie('object'),
    ),
    object: fc.dictionary(fc.string(), tie('any'), { noNullPrototype: true }),
  }))

  it('the patch from `mergePatchOf` turns the first object into the second object', () => {
    fc.assert(
      fc.property(value.object, value.object, (before, after) => {
        const kept = structuredClone(before)
        expect(applied(before, mergePatchOf(before as object, after as object))).toEqual(after)
        expect(before).toEqual(kept)
      }),
    )
  })
})

/** Applies a merge patch by the rules of RFC 7396. */
function applied(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch
  const result = new Map(isJsonObject(target) ? Object.entries(target) : [])
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) result.delete(key)
    else result.set(key, applied(result.get(key), change))
  }
  return Object.fromEntries(result)
}

const MINE = 'external-attacher/csi-example-com'

describe('addFinalizerPatch', () => {
  it.each<[name: string, finalizers: readonly string[] | undefined, body: object[]]>([
    [
      'an absent list',
      undefined,
      [
        { op: 'test', path: '/metadata/finalizers', value: null },
        { op: 'add', path: '/metadata/finalizers', value: [MINE] },
      ],
    ],
    [
      'an empty list',
      [],
      [
        { op: 'test', path: '/metadata/finalizers', value: [] },
        { op: 'replace', path: '/metadata/finalizers', value: [MINE] },
      ],
    ],
    ['other finalizers', ['kubernetes.io/pv-protection'], [{ op: 'add', path: '/metadata/finalizers/-', value: MINE }]],
  ])('`addFinalizerPatch` adds a finalizer to %s', (_what, finalizers, body) => {
    expect(addFinalizerPatch(finalizers, MINE)).toStrictEqual({ kind: 'json', body })
  })
})

describe('removeFinalizerPatch', () => {
  it('`removeFinalizerPatch` tests the finalizer at its index and then removes it', () => {
    expect(removeFinalizerPatch(['a', MINE, 'b'], MINE)).toStrictEqual({
      kind: 'json',
      body: [
        { op: 'test', path: '/metadata/finalizers/1', value: MINE },
        { op: 'remove', path: '/metadata/finalizers/1' },
      ],
    })
  })

  it.each([[undefined], [[]], [['other']]])('`removeFinalizerPatch` returns no patch for %j', (finalizers) => {
    expect(removeFinalizerPatch(finalizers, MINE)).toBeUndefined()
  })
})

it.each([
  ['adding to an absent list', addFinalizerPatch(undefined, MINE, 'u'), addFinalizerPatch(undefined, MINE)],
  ['adding to an empty list', addFinalizerPatch([], MINE, 'u'), addFinalizerPatch([], MINE)],
  ['adding to other finalizers', addFinalizerPatch(['a'], MINE, 'u'), addFinalizerPatch(['a'], MINE)],
  ['removing', removeFinalizerPatch([MINE], MINE, 'u'), removeFinalizerPatch([MINE], MINE)],
])('a finalizer patch with a UID tests first that the object has this UID: %s', (_what, withUid, plain) => {
  const rest = plain?.body as object[]
  expect(withUid).toStrictEqual({ kind: 'json', body: [{ op: 'test', path: '/metadata/uid', value: 'u' }, ...rest] })
})
