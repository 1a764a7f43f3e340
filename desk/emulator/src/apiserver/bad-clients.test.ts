import { connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type ApiServer, startApiServer } from './server.ts'

let api: ApiServer
beforeEach(async () => {
  api = await startApiServer({ hostNames: ['api.example.com'] })
})
afterEach(() => api.stop())

const CONFIGS = '/api/v1/namespaces/default/configmaps'
const MERGE = { 'content-type': 'application/merge-patch+json' }
const JSON_TYPE = { 'content-type': 'application/json' }

/** Sends raw text over TCP, because HTTP clients cannot send invalid requests. Resolves with the whole answer. */
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

test('the server refuses a Content-Length that is too large before it reads the body', async () => {
  const answer = await speak(`POST ${CONFIGS} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10000000\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
  expect(answer).toContain('"reason":"RequestEntityTooLarge"')
})

test('the server stops reading a body without Content-Length when it reaches the size limit', async () => {
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  const answer = await speak(
    `POST ${CONFIGS} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(80)}`,
  )
  expect(answer).toMatch(/^(HTTP\/1.1 413 |$)/)
})

test('the server refuses JSON that is nested too deep, and keeps running', async () => {
  const text = `{"metadata":{"name":"x"},"data":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`
  const response = await fetch(api.url + CONFIGS, { method: 'POST', headers: JSON_TYPE, body: text })
  expect(response.status).toBe(400)
  expect((await fetch(`${api.url}/healthz`)).status).toBe(200)
})

test('the server refuses a server-side apply, with a message that names the alternative', async () => {
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const answer = await fetch(`${api.url}${CONFIGS}/a?fieldManager=x`, { method: 'PATCH', headers, body: '{}' })
  expect(answer.status).toBe(415)
  expect(await answer.json()).toMatchObject({
    message: 'the emulator does not support server-side apply: use kubectl apply without --server-side',
  })
})

test('the server stores the key `__proto__` like any other key', async () => {
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
])('the server answers %s %s without an internal error', async (method, path) => {
  const answer = await speak(`${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1.1 [245]\d\d /)
  expect(answer).not.toMatch(/^HTTP\/1.1 500 /)
})

test('the server answers 400 to bytes that are not HTTP, and closes the connection', async () => {
  expect(await speak('\u0016\u0003\u0001 hello\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /)
})

test('the request log drops old entries when the total size of the logged bodies exceeds a limit', async () => {
  const body = JSON.stringify({ metadata: { name: 'A' }, data: { a: 'x'.repeat(1_000_000) } })
  for (let index = 0; index < 80; index += 1) {
    await fetch(api.url + CONFIGS, { method: 'POST', headers: JSON_TYPE, body })
  }
  expect(api.requests.total).toBe(80)
  expect(api.requests.entries.length).toBeLessThanOrEqual(67)
})

test.each([
  ['from a form on another web site', 'localhost', 'origin: https://evil.example.com'],
  ['from a page without an origin', 'localhost', 'origin: null'],
  ['from a page of another web site', '127.0.0.1', 'sec-fetch-site: cross-site'],
  ['from a page on another port of this machine', 'localhost', 'sec-fetch-site: same-site'],
  ['for a foreign host name that resolves to this machine', 'evil.example.com', 'sec-fetch-site: same-origin'],
  ['for a host name that begins with an IP address', '127.0.0.1.evil.example.com:80', 'accept: */*'],
])('the server refuses a GET and a POST %s', async (_, host, header) => {
  for (const method of ['GET', 'POST']) {
    const body = method === 'GET' ? '' : '{"metadata":{"name":"x"}}'
    const head = `${method} ${CONFIGS} HTTP/1.1\r\nhost: ${host}\r\n${header}\r\nconnection: close\r\n`
    const answer = await speak(`${head}content-length: ${body.length}\r\n\r\n${body}`)
    expect(answer).toMatch(/^HTTP\/1.1 403 .*"reason":"Forbidden"/s)
  }
  expect(api.requests.total).toBe(0)
})

test.each(['127.0.0.1', '[::1]:6443', 'localhost:1', 'LOCALHOST', 'api.example.com:443'])(
  'the server accepts requests for the host %s',
  async (host) => {
    const answer = await speak(`GET /version HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  },
)
