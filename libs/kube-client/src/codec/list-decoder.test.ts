import { describe, expect, test } from '@jest/globals'
import { decodeList, NoListError } from './list-decoder.ts'

const list = (items: unknown, metadata: object = { resourceVersion: '7', continue: 'token' }): object => ({
  kind: 'PersistentVolumeList',
  apiVersion: 'v1',
  metadata,
  items,
})
const decoded = (text: string): unknown => {
  const { head, objects } = decodeList(text)
  return { ...head, objects: [...objects] }
}

describe('a list', () => {
  const nested = { metadata: { name: 'b' }, spec: { templates: [{ metadata: { name: 'c' } }, { metadata: {} }] } }
  const text = { metadata: { name: 'd', annotations: { a: '},{"metadata":' } } }
  test.each([
    ['of no objects', []],
    ['of one object', [{ metadata: { name: 'a' } }]],
    ['of objects that contain the separator of two objects', [{ metadata: { name: 'a' } }, nested, text, nested]],
    [
      'of objects that name their kind',
      [
        { kind: 'X', metadata: {} },
        { kind: 'X', metadata: { name: 'b' } },
      ],
    ],
    ['of different objects', [{ metadata: { name: 'a' } }, { kind: 'X', metadata: {} }, { metadata: { name: 'c' } }]],
  ])('the decoder yields the objects of a list %s one by one', (_, items) => {
    const expected = { resourceVersion: '7', continue: 'token', objects: items }
    expect(decoded(JSON.stringify(list(items)))).toEqual(expected)
    expect(decoded(`${JSON.stringify(list(items))}\n`)).toEqual(expected)
    const { metadata, ...others } = { ...list(items), metadata: { resourceVersion: '7', continue: 'token' } }
    expect(decoded(JSON.stringify({ ...others, metadata }))).toEqual(expected)
    expect(decoded(JSON.stringify(list(items), undefined, 2))).toEqual(expected)
  })

  test('the decoder of a list parses an object only when the caller reads it', () => {
    const { objects } = decodeList('{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{}},{"metadata":oops]}')
    const iterator = objects[Symbol.iterator]()
    expect(iterator.next()).toEqual({ done: false, value: { metadata: {} } })
    expect(() => iterator.next()).toThrow(NoListError)
  })

  test('the list decoder reads null items as an empty list, and ignores an empty continue token', () => {
    expect(decoded(JSON.stringify(list(null, { resourceVersion: '7', continue: '' })))).toEqual({
      resourceVersion: '7',
      continue: undefined,
      objects: [],
    })
  })
})

test.each(['', 'oops', 'null', '[]', '{}', '{"metadata":{},"items":3}', '{"kind":"Status","metadata":{}}'])(
  'the decoder of a list refuses %j, which is not a list',
  (text) => {
    expect(() => decodeList(text)).toThrow(NoListError)
  },
)
