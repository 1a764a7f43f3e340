import { expect, it, test } from '@jest/globals'
import { startApiServer } from '../server.ts'
import { openEnvelope } from './protobuf/decode.ts'
import { shapeOf } from './representation.ts'

const BUILT_IN = { custom: false }

const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

test.each([
  [undefined, 'object'],
  [`${PROTOBUF}, application/json`, 'message'],
  [`${PROTOBUF};q=0.5, application/json;q=0.6`, 'object'],
  [`${PROTOBUF};stream=watch, application/json;stream=watch`, 'message'],
  [PROTOBUF, 'message'],
  [`application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1, ${TABLE}, application/json`, 'table'],
  [`application/json;q=0.1, ${TABLE};q=0.2`, 'table'],
  ['*/*', 'object'],
])('a client that accepts %s gets the answer in the form "%s"', (accept, as) => {
  expect(shapeOf(accept, new URLSearchParams(), BUILT_IN).as).toBe(as)
})

test.each(['application/yaml', 'text/html'])('the server refuses a client that accepts only %s', (accept) => {
  expect(() => shapeOf(accept, new URLSearchParams(), BUILT_IN)).toThrow('406: Not Acceptable')
})

const ACCEPT = { accept: `${PROTOBUF};q=1.0,application/json;q=0.9` }

test.each([
  ['', PROTOBUF],
  ['?limit=1', PROTOBUF],
  ['?watch=true&timeoutSeconds=1', `${PROTOBUF};stream=watch`],
  ['/default', PROTOBUF],
])('a client that prefers protobuf gets protobuf from the path namespaces%s', async (rest, type) => {
  await using api = await startApiServer()
  const response = await fetch(`${api.url}/api/v1/namespaces${rest}`, { headers: ACCEPT })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
  await response.body?.cancel()
})

test('a client that prefers protobuf gets errors as protobuf, but the answers to writes as JSON', async () => {
  await using api = await startApiServer()
  const refused = await fetch(`${api.url}/api/v1/namespaces/none`, { headers: ACCEPT })
  expect([refused.status, refused.headers.get('content-type')]).toEqual([404, PROTOBUF])
  const bytes = Buffer.from(await refused.arrayBuffer())
  expect(openEnvelope(bytes)).toMatchObject({ apiVersion: 'v1', kind: 'Status' })
  expect(bytes.toString()).toContain('namespaces "none" not found')
  const body = JSON.stringify({ metadata: { name: 'some' } })
  const made = await fetch(`${api.url}/api/v1/namespaces`, {
    method: 'POST',
    headers: { ...ACCEPT, 'content-type': 'application/json' },
    body,
  })
  expect([made.status, made.headers.get('content-type')]).toEqual([201, 'application/json'])
})

it.each([
  ['application/vnd.kubernetes.protobuf, application/json', 'object'],
  ['application/vnd.kubernetes.protobuf;q=0.9, */*;q=0.8', 'object'],
])('the server sends a custom resource as JSON if the Accept header %s allows JSON', (accept, as) => {
  expect(shapeOf(accept, new URLSearchParams(), { custom: true }).as).toBe(as)
})

it('the server refuses a client that accepts a custom resource only as protobuf', () => {
  const accept = 'application/vnd.kubernetes.protobuf'
  expect(() => shapeOf(accept, new URLSearchParams(), { custom: true })).toThrow('406: Not Acceptable')
})
