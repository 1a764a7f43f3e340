import { describe, expect, test } from '@jest/globals'
import { ApiError } from './api-error.ts'
import { parseAnswer, parseJson, withoutManagedFields } from './decode.ts'

const MANAGERS = [
  { manager: 'a', operation: 'Update', fieldsV1: { 'f:spec': { 'f:x': {}, 'k:{"type":"Ready"}': { '.': {} } } } },
  { manager: 'b', operation: 'Apply', fieldsV1: { 'v:"x"': {}, 'v:[{"a":[1]}],"b"': {} }, subresource: 'status' },
]
const object = (metadata: object, rest: object = { spec: { a: 1 } }): object => ({ kind: 'X', metadata, ...rest })

describe('managedFields', () => {
  test.each([
    ['last in the metadata', object({ name: 'x', managedFields: MANAGERS })],
    ['in the middle of the metadata', object({ annotations: {}, managedFields: MANAGERS, name: 'x' })],
    ['of several objects', { items: [1, 2].map((n) => object({ name: `${n}`, managedFields: MANAGERS })) }],
  ])('%s are cut out, and nothing else', (_, value) => {
    const text = JSON.stringify(value)
    const cut = withoutManagedFields(text)
    expect(cut).not.toContain('managedFields')
    expect(JSON.parse(cut)).toEqual(JSON.parse(text, (key, inner) => (key === 'managedFields' ? undefined : inner)))
  })

  test.each([
    ['there are none', object({ name: 'x' })],
    ['the list is empty', object({ name: 'x', managedFields: [], z: 1 }, { a: [{ b: 1 }], c: 1 })],
    ['they come first', object({ managedFields: MANAGERS, name: 'x' })],
    ['the object ends with them', object({ name: 'x', managedFields: MANAGERS }, {})],
    ['the same stands in a text', object({ annotations: { last: JSON.stringify({ a: 1, managedFields: MANAGERS }) } })],
  ])('are left alone where %s', (_, value) => {
    expect(withoutManagedFields(JSON.stringify(value))).toBe(JSON.stringify(value))
  })

  test('of an object that ends with them do not hide those of the next', () => {
    const first = object({ name: '1', managedFields: MANAGERS }, {})
    const second = object({ name: '2', managedFields: MANAGERS })
    expect(JSON.parse(withoutManagedFields(JSON.stringify([first, second])))).toEqual([first, object({ name: '2' })])
  })

  test('that are no list of managers cost nothing but time', () => {
    const odd = object({ name: 'x', managedFields: [{ a: [{ b: 1 }], c: 2 }], uid: 'u' })
    expect(parseJson(JSON.stringify(odd))).toEqual(odd)
  })
})

test('an answer that is no JSON is an ApiError that shows how it begins', () => {
  const attempt = (): unknown => parseAnswer('<html>Bad gateway</html>', '/api/v1/pods')
  expect(attempt).toThrow(ApiError)
  expect(attempt).toThrow(/^couldn't decode the answer to \/api\/v1\/pods: .*: "<html>Bad gateway<\/html>"$/)
})
