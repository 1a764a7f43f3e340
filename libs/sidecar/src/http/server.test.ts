import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { Metrics } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, describe, expect, test } from '@jest/globals'
import type { HttpServer } from './listener.ts'
import { type HealthChecks, type HttpServerOptions, startHttpServer } from './server.ts'

let server: HttpServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function start(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const metrics = new Metrics()
  metrics.counter({ name: 'c_total', help: 'h', labels: [] })
  const log = recordingLogger()
  server = await startHttpServer({ address: '127.0.0.1:0', metricsPath: '/metrics', metrics, log, ...options })
  return server
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

async function get(path: string, options: { method?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
  const asking = request({ host: '127.0.0.1', port: server?.port, path, agent: false, ...options })
  asking.end()
  const [response] = await once(asking, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }
}

const text = ({ status, body }: Answer): string => `${status} ${body.toString()}`

test('/debug/stuck passes the query to its handler, and returns 404 without a handler', async () => {
  await start({ debugStuck: async (query) => ({ status: 200, body: `limit ${query.get('limit')}` }) })
  expect(text(await get('/debug/stuck?limit=7'))).toBe('200 limit 7')
  await server?.close()
  await start()
  expect((await get('/debug/stuck')).status).toBe(404)
})

test('/debug/pprof/ exists only if an app needs it, and reports that there are no profiles', async () => {
  await start({ profilesPage: true })
  expect(text(await get('/debug/pprof/'))).toMatch(/^200 .*no profiles/)
  await server?.close()
  await start()
  expect((await get('/debug/pprof/')).status).toBe(404)
})

describe('metrics', () => {
  const BODY = '# HELP c_total h\n# TYPE c_total counter\nc_total 0\n'

  test.each(['GET', 'POST'])('/metrics answers a %s request with text and the process start time', async (method) => {
    await start()
    const { status, headers, body } = await get('/metrics?x=1', { method })
    expect({ status, type: headers['content-type'], body: body.toString() }).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body: BODY,
    })
    expect(headers['process-start-time-unix']).toMatch(/^\d{10}$/)
  })

  test.each([
    ['gzip', true],
    ['deflate, gzip;q=0.5', true],
    ['*', true],
    ['gzip;q=0', false],
    ['identity', false],
  ])('metrics with Accept-Encoding %s are zipped: %s', async (accepted, zipped) => {
    await start()
    const { headers, body } = await get('/metrics', { headers: { 'Accept-Encoding': accepted } })
    expect(headers['content-encoding']).toBe(zipped ? 'gzip' : undefined)
    expect((zipped ? gunzipSync(body) : body).toString()).toBe(BODY)
  })

  test('metrics stay in the text format for a client that requests OpenMetrics', async () => {
    await start()
    const { headers } = await get('/metrics', { headers: { Accept: 'application/openmetrics-text' } })
    expect(headers['content-type']).toMatch(/^text\/plain/)
  })

  test('metrics are served only at the configured path', async () => {
    await start({ metricsPath: '/m' })
    expect([(await get('/m')).status, (await get('/metrics')).status]).toEqual([200, 404])
  })

  test('a failure to write metrics closes the connection and is logged', async () => {
    const metrics = new Metrics()
    metrics.onCollect(() => {
      throw new Error('broken')
    })
    const log = recordingLogger()
    await start({ metrics, log })
    await expect(get('/metrics')).rejects.toThrow('socket hang up')
    expect(log.lines).toMatchObject([{ level: 'error', message: 'HTTP request failed', pairs: { path: '/metrics' } }])
  })
})

test.each(['/', '/healthz', '/healthz/leader-election', '/livez', '/readyz', '/metrics/', '/debug/pprof/', '/Metrics'])(
  'the path %s is not found if the HTTP server serves only metrics',
  async (path) => {
    await start()
    const answer = await get(path)
    expect(text(answer)).toBe('404 404 page not found\n')
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
  },
)

describe('health', () => {
  const WELL = '200 ok'
  const sick: HealthChecks = {
    leaderElection: () => ['failed election to renew leadership on lease '],
    live: () => ['the event loop is late by 12 s'],
    ready: () => ['connection to the CSI driver is lost', 'cache VolumeAttachments has not synced'],
  }

  test.each([
    ['/healthz/leader-election', '500 internal server error: failed election to renew leadership on lease \n'],
    ['/livez', '503 livez check failed:\n- the event loop is late by 12 s\n'],
    [
      '/readyz',
      '503 readyz check failed:\n- connection to the CSI driver is lost\n- cache VolumeAttachments has not synced\n',
    ],
  ])('the path %s returns the reasons of a failure, or ok', async (path, expected) => {
    let health = sick
    const check = (name: keyof HealthChecks) => () => health[name]?.() ?? []
    await start({ health: { leaderElection: check('leaderElection'), live: check('live'), ready: check('ready') } })
    expect(text(await get(path))).toBe(expected)
    health = {}
    expect(text(await get(path))).toBe(WELL)
  })

  test('/healthz/leader-election lists all leases that are unhealthy', async () => {
    await start({ health: { leaderElection: () => ['csi-attacher: late', 'csi-resizer: late'] } })
    const answer = text(await get('/healthz/leader-election'))
    expect(answer).toBe('500 internal server error: csi-attacher: late, csi-resizer: late\n')
  })

  test('/healthz/leader-election does not exist without leader election', async () => {
    await start({ health: { live: () => [], ready: () => [] } })
    expect((await get('/healthz/leader-election')).status).toBe(404)
  })
})

describe('odd clients', () => {
  /**
   * Sends bytes, and returns all bytes of the server until it closes the connection. The client closes its half of the
   * connection after its bytes only if `closes` is true.
   */
  async function raw(bytes: string, { closes = false } = {}): Promise<string> {
    const socket = connect(server?.port ?? 0, '127.0.0.1')
    socket.write(bytes)
    if (closes) socket.end()
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(socket, 'close')
    return Buffer.concat(chunks).toString()
  }

  test('the HTTP server answers a request with a body, and then closes its connection', async () => {
    await start()
    const reply = await raw('POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc')
    expect(reply).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Connection: close\r\n/)
  })

  test.each([
    ['no version', 'GET /metrics\r\n\r\n', 400],
    ['an unknown expectation', 'GET /metrics HTTP/1.1\r\nHost: x\r\nExpect: y\r\n\r\n', 417],
  ])('the HTTP server refuses a request with %s', async (_, bytes, status) => {
    await start()
    expect(await raw(bytes, { closes: true })).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  })

  test('the HTTP server answers only the first request of a connection', async () => {
    const metrics = new Metrics()
    let scrapes = 0
    metrics.onCollect(() => {
      scrapes += 1
    })
    await start({ metrics })
    const reply = await raw('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000), { closes: true })
    const answers = reply.match(/(?<=^HTTP\/1\.1 )\d+/gm)
    expect([answers?.[0], ...new Set(answers?.slice(1))]).toEqual(['200', '503'])
    expect(scrapes).toBe(1)
  })

  test('the HTTP server refuses headers that are too large', async () => {
    await start()
    const reply = await raw(`GET /metrics HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(10_000)}\r\n\r\n`)
    expect(reply).toMatch(/^HTTP\/1\.1 431 /)
  })

  test('the HTTP server refuses bytes that are not HTTP', async () => {
    await start()
    expect(await raw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('the HTTP server closes each new connection while 32 connections are open', async () => {
    await start({ health: { live: () => [] } })
    const opened = Array.from({ length: 32 }, () => connect(server?.port ?? 0, '127.0.0.1'))
    await Promise.all(opened.map((socket) => once(socket, 'connect')))
    expect(await raw('')).toBe('')
    opened[0]?.destroy()
    while ((await get('/livez').catch(() => undefined)) === undefined);
    expect(text(await get('/livez'))).toBe('200 ok')
    for (const socket of opened) socket.destroy()
  })

  test('a client that keeps its connection open does not delay the close of the HTTP server', async () => {
    const { port, close } = await start()
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const closed = once(socket, 'close')
    await close()
    await closed
  })
})

describe('an address', () => {
  const listen = (address: string) =>
    startHttpServer({ address, metricsPath: '/m', metrics: new Metrics(), log: recordingLogger() })

  test('the HTTP server fails to start with the error of Go if its address is in use', async () => {
    const { port } = await start()
    const address = `127.0.0.1:${port}`
    await expect(listen(address)).rejects.toThrow(`listen tcp ${address}: bind: address already in use`)
  })

  test('the HTTP server fails to start if its address belongs to another machine', async () => {
    await expect(listen('192.0.2.1:80')).rejects.toThrow(
      'listen tcp 192.0.2.1:80: bind: cannot assign requested address',
    )
  })

  test('the HTTP server fails to start if its address cannot be parsed', async () => {
    await expect(listen('foo')).rejects.toThrow('listen tcp: address foo: missing port in address')
  })

  test('the HTTP server fails to start if the metrics path begins without a slash', async () => {
    const options = { address: ':0', metricsPath: 'm', metrics: new Metrics(), log: recordingLogger() }
    await expect(startHttpServer(options)).rejects.toThrow('metrics path m does not begin with a slash')
  })
})
