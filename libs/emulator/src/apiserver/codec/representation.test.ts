import { expect, test } from '@jest/globals'
import { startApiServer } from '../server.ts'
import { shapeOf } from './representation.ts'

const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'

test.each([
  [undefined, 'object'],
  [`${PROTOBUF}, application/json`, 'object'],
  [`${PROTOBUF};q=1.0, application/json;q=0.5`, 'object'],
  [`${PROTOBUF};stream=watch, application/json;stream=watch`, 'object'],
  [`application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1, ${TABLE}, application/json`, 'table'],
  [`application/json;q=0.1, ${TABLE};q=0.2`, 'table'],
  ['*/*', 'object'],
])('of what a client accepts, %s, the emulator has the form %s', (accept, as) => {
  expect(shapeOf(accept, new URLSearchParams()).as).toBe(as)
})

test.each([PROTOBUF, 'application/yaml', 'text/html'])('who accepts only %s is refused', (accept) => {
  expect(() => shapeOf(accept, new URLSearchParams())).toThrow('406: Not Acceptable')
})

test.each(['', '?limit=1', '?watch=true&timeoutSeconds=1', '/default'])(
  'a client that prefers protobuf and can read JSON gets JSON from namespaces%s',
  async (rest) => {
    await using api = await startApiServer()
    const headers = { accept: `${PROTOBUF};q=1.0,application/json;q=0.9` }
    const response = await fetch(`${api.url}/api/v1/namespaces${rest}`, { headers })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    await response.body?.cancel()
  },
)
