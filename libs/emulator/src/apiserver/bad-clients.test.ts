import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type ApiServer, startApiServer } from './server.ts'

let api: ApiServer
beforeEach(async () => {
  api = await startApiServer()
})
afterEach(() => api.stop())

const CONFIGS = '/api/v1/namespaces/default/configmaps'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const JSON_TYPE = { 'content-type': 'application/json' }

/** Speaks HTTP by hand, since no client would send this. Resolves with all that came back. */
function speak(text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(api.port, '127.0.0.1')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
    socket.write(text)
  })
}

test('a body that announces too much is refused before it comes', async () => {
  const answer = await speak(`POST ${CONFIGS} HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
  expect(answer).toContain('"reason":"RequestEntityTooLarge"')
})

test('a body that does not announce itself is cut off at the limit', async () => {
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  const answer = await speak(
    `POST ${CONFIGS} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(80)}`,
  )
  expect(answer).toMatch(/^(HTTP\/1.1 413 |$)/)
})

test('JSON that is nested too deep is refused, and the server lives on', async () => {
  const text = `{"metadata":{"name":"x"},"data":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`
  const response = await fetch(api.url + CONFIGS, { method: 'POST', headers: JSON_TYPE, body: text })
  expect(response.status).toBe(400)
  expect((await fetch(`${api.url}/healthz`)).status).toBe(200)
})

test('keys that mean something to JavaScript are keys like others', async () => {
  const post = {
    method: 'POST',
    headers: JSON_TYPE,
    body: '{"metadata":{"name":"x"},"data":{"__proto__":"p","constructor":"c"}}',
  }
  const made = await fetch(api.url + CONFIGS, post)
  expect(await made.text()).toContain('"data":{"__proto__":"p","constructor":"c"}')
  const patch = { method: 'PATCH', headers: MERGE, body: '{"__proto__":{"polluted":"yes"},"data":{"toString":"t"}}' }
  expect(await (await fetch(`${api.url}${CONFIGS}/x`, patch)).text()).toContain('"toString":"t"')
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

test.each([
  ['GET', '/api/v1/namespaces/default/configmaps/%E0%A4%A'],
  ['GET', '//'],
  ['GET', '/api/v1/namespaces//configmaps'],
  ['OPTIONS', CONFIGS],
  ['GET', `${CONFIGS}?limit=-5&continue=%00`],
])('%s %s is answered, not fatal', async (method, path) => {
  const answer = await speak(`${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1.1 [245]\d\d /)
  expect(answer).not.toMatch(/^HTTP\/1.1 500 /)
})

test('what is no HTTP at all is answered by closing', async () => {
  expect(await speak('\u0016\u0003\u0001 hello\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /)
})

test('the log of requests is bounded by the size of its bodies', async () => {
  const body = JSON.stringify({ metadata: { name: 'A' }, data: { a: 'x'.repeat(1_000_000) } })
  for (let index = 0; index < 80; index += 1) {
    await fetch(api.url + CONFIGS, { method: 'POST', headers: JSON_TYPE, body })
  }
  expect(api.requests.total).toBe(80)
  expect(api.requests.entries.length).toBeLessThanOrEqual(67)
})
