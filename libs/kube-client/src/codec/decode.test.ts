import { LEASES } from '@csi-sidecars/kube-types'
import { describe, expect, test } from '@jest/globals'
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
    ['in several objects', { items: [1, 2].map((n) => object({ name: `${n}`, managedFields: MANAGERS })) }],
  ])('the decoder removes managedFields, and nothing else, if they are %s', (_, value) => {
    const text = JSON.stringify(value)
    const cut = withoutManagedFields(text)
    expect(cut).not.toContain('managedFields')
    expect(JSON.parse(cut)).toEqual(JSON.parse(text, (key, inner) => (key === 'managedFields' ? undefined : inner)))
  })

  test.each([
    ['there are no managedFields', object({ name: 'x' })],
    ['the list of managedFields is empty', object({ name: 'x', managedFields: [], z: 1 }, { a: [{ b: 1 }], c: 1 })],
    ['managedFields come first', object({ managedFields: MANAGERS, name: 'x' })],
    ['managedFields end the object', object({ name: 'x', managedFields: MANAGERS }, {})],
    [
      'managedFields are part of a string',
      object({ annotations: { last: JSON.stringify({ a: 1, managedFields: MANAGERS }) } }),
    ],
  ])('the decoder does not change the text of an object if %s', (_, value) => {
    expect(withoutManagedFields(JSON.stringify(value))).toBe(JSON.stringify(value))
  })

  test('the decoder keeps managedFields at the end of an object, but removes them from later objects', () => {
    const first = object({ name: '1', managedFields: MANAGERS }, {})
    const second = object({ name: '2', managedFields: MANAGERS })
    expect(JSON.parse(withoutManagedFields(JSON.stringify([first, second])))).toEqual([first, object({ name: '2' })])
  })

  test('the decoder parses an object whose managedFields are not a list of managers', () => {
    const odd = object({ name: 'x', managedFields: [{ a: [{ b: 1 }], c: 2 }], uid: 'u' })
    expect(parseJson(JSON.stringify(odd))).toEqual(odd)
  })
})

test.each([
  ['{"data":{"password":"aHVudGVyMg=="', '34 characters that are no JSON'],
  ['hunter2', '7 characters that are no JSON'],
  ['', '0 characters that are no JSON'],
  ['<html>Bad gateway</html>', '24 characters of HTML, not JSON'],
])('an answer that cannot be decoded, such as %j, throws an ApiError that does not quote it', (text, problem) => {
  const request = { path: '/api/v1/namespaces/ns/secrets/s', method: 'GET' } as const
  let thrown: unknown
  try {
    parseAnswer(text, request)
  } catch (error) {
    thrown = error
  }
  const message = `couldn't decode the answer to /api/v1/namespaces/ns/secrets/s: ${problem}`
  expect(thrown).toMatchObject({ code: 0, message, outcomeUnknown: false })
  // The error has no cause, because a cause would quote the secret, and loggers print causes.
  expect(thrown).not.toHaveProperty('cause')
})

test.each(['null', '[]', '7', '"x"', '{}', '{"metadata":null}', '{"metadata":{}}', '{"kind":"Status","metadata":{}}'])(
  'a write fails with an unknown outcome if the answer %s is not an object',
  (text) => {
    const request = { path: '/p', resource: LEASES }
    const message = "couldn't decode the answer to /p: JSON that is no object of the API"
    const failure = (method: 'GET' | 'PUT') => expect(() => parseAnswer(text, { ...request, method }))
    failure('GET').toThrow(expect.objectContaining({ message, outcomeUnknown: false }))
    failure('PUT').toThrow(expect.objectContaining({ message, outcomeUnknown: true }))
    expect(() => parseAnswer(text, { path: '/version', method: 'GET' })).not.toThrow()
  },
)

test.each([
  ['{"metadata":{},"status":{"allowed":true}}', true],
  ['{"metadata":{}}', false],
  ['{"status":null}', false],
  ['null', false],
])('the decoder accepts the answer %s to an access review: %s', (text, is) => {
  const resource = { ...LEASES, isStored: false } as const
  const parse = (): unknown => parseAnswer(text, { path: '/p', method: 'POST', resource })
  if (is) expect(parse()).toEqual(JSON.parse(text))
  else expect(parse).toThrow('JSON that is no object of the API')
})
