import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Metrics } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, expect, test } from '@jest/globals'
import type { HttpServer } from './listener.ts'
import { startHttpServer } from './server.ts'

let server: HttpServer | undefined
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await server?.close()
})

async function start(metrics = new Metrics()): Promise<void> {
  metrics.counter({ name: 'c_total', help: 'h', labels: [] })
  const log = recordingLogger()
  const options = { address: '127.0.0.1:0', metricsPath: '/metrics', health: { live: () => [] } }
  server = await startHttpServer({ ...options, metrics, log })
}

/** A client that has sent these bytes. */
function client(bytes: string): Socket {
  const socket = connect(server?.port ?? 0, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined) // it may be closed
  socket.write(bytes)
  return socket
}

/** All that the server sends until it closes the connection. */
async function answersTo(bytes: string): Promise<string> {
  const chunks: Buffer[] = []
  const socket = client(bytes).on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

const request = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
const LAST = 'Connection: close\r\n'

test('requests that come together are answered one after the other', async () => {
  await start()
  const answers = await answersTo(`\r\n${request('/livez')}\r\n${request('/metrics')}${request('/none', LAST)}`)
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 404'])
})

test('a request that comes byte by byte is answered', async () => {
  await start()
  const socket = client('')
  socket.setNoDelay()
  for (const byte of request('/livez', LAST)) await new Promise((resolve) => socket.write(byte, resolve))
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
})

test('a client that ends its side at once is answered', async () => {
  await start()
  const socket = client('')
  socket.end('GET /metrics HTTP/1.0\r\n\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
})

test.each([
  ['no version', 'GET /metrics\r\n\r\n', 400],
  ['an expectation that is not known', request('/metrics', `Expect: y\r\n${LAST}`), 417],
])('a request with %s is refused', async (_, bytes, status) => {
  await start()
  expect(await answersTo(bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
})

test('clients that ask for thousands of answers and read none have one request in work each', async () => {
  const metrics = new Metrics()
  let scrapes = 0
  metrics.onCollect(() => {
    scrapes += 1
  })
  metrics.series({ name: 'big', help: 'x'.repeat(4_000_000), labels: [], read: () => [{ labels: {}, value: 1 }] })
  await start(metrics)
  for (let count = 0; count < 16; count += 1) client(request('/metrics').repeat(1000))
  for (let probe = 0; probe < 20; probe += 1) {
    const [answer] = await once(client(request('/livez', LAST)), 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
  }
  expect(scrapes).toBeLessThan(50)
})

test('a client that asks for thousands of small answers delays no other', async () => {
  await start()
  let answered = 0
  const greedy = client(request('/none').repeat(1000))
  greedy.on('data', (bytes: Buffer) => {
    answered += String(bytes).split('HTTP/1.1 404').length - 1
  })
  await once(greedy, 'data')
  await once(client(request('/livez', LAST)), 'data')
  expect(answered).toBeLessThan(500)
})
