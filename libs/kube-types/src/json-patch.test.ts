import { describe, expect, it } from '@jest/globals'
import { addFinalizerPatch, removeFinalizerPatch } from './json-patch.ts'

const MINE = 'external-attacher/csi-example-com'

describe('addFinalizerPatch', () => {
  it.each<[what: string, finalizers: readonly string[] | undefined, body: object[]]>([
    [
      'no list',
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
    ["others' entries", ['kubernetes.io/pv-protection'], [{ op: 'add', path: '/metadata/finalizers/-', value: MINE }]],
  ])('with %s', (_what, finalizers, body) => {
    expect(addFinalizerPatch(finalizers, MINE)).toStrictEqual({ kind: 'json', body })
  })
})

describe('removeFinalizerPatch', () => {
  it('removes the entry at the index of the cache, if it is still there', () => {
    expect(removeFinalizerPatch(['a', MINE, 'b'], MINE)).toStrictEqual({
      kind: 'json',
      body: [
        { op: 'test', path: '/metadata/finalizers/1', value: MINE },
        { op: 'remove', path: '/metadata/finalizers/1' },
      ],
    })
  })

  it.each([[undefined], [[]], [['other']]])('returns undefined for %j', (finalizers) => {
    expect(removeFinalizerPatch(finalizers, MINE)).toBeUndefined()
  })
})

it.each([
  ['adding to no list', addFinalizerPatch(undefined, MINE, 'u'), addFinalizerPatch(undefined, MINE)],
  ['adding to an empty list', addFinalizerPatch([], MINE, 'u'), addFinalizerPatch([], MINE)],
  ["adding to others' entries", addFinalizerPatch(['a'], MINE, 'u'), addFinalizerPatch(['a'], MINE)],
  ['removing', removeFinalizerPatch([MINE], MINE, 'u'), removeFinalizerPatch([MINE], MINE)],
])('%s is refused by another object of the name, when the uid is given', (_what, guarded, plain) => {
  const rest = plain?.body as object[]
  expect(guarded).toStrictEqual({ kind: 'json', body: [{ op: 'test', path: '/metadata/uid', value: 'u' }, ...rest] })
})
