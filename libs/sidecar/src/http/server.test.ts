import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
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

test('/debug/stuck is asked with its query, and served only where there is one', async () => {
  await start({ debugStuck: async (query) => ({ status: 200, body: `limit ${query.get('limit')}` }) })
  expect(text(await get('/debug/stuck?limit=7'))).toBe('200 limit 7')
  await server?.close()
  await start()
  expect((await get('/debug/stuck')).status).toBe(404)
})

describe('metrics', () => {
  const BODY = '# HELP c_total h\n# TYPE c_total counter\nc_total 0\n'

  test.each(['GET', 'POST'])('answers %s with text and the start time of the process', async (method) => {
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
  ])('with Accept-Encoding %s is zipped: %s', async (accepted, zipped) => {
    await start()
    const { headers, body } = await get('/metrics', { headers: { 'Accept-Encoding': accepted } })
    expect(headers['content-encoding']).toBe(zipped ? 'gzip' : undefined)
    expect((zipped ? gunzipSync(body) : body).toString()).toBe(BODY)
  })

  test('stays text for a client that asks for OpenMetrics', async () => {
    await start()
    const { headers } = await get('/metrics', { headers: { Accept: 'application/openmetrics-text' } })
    expect(headers['content-type']).toMatch(/^text\/plain/)
  })

  test('is served at another path when asked for, and only there', async () => {
    await start({ metricsPath: '/m' })
    expect([(await get('/m')).status, (await get('/metrics')).status]).toEqual([200, 404])
  })

  test('requests that come together share one exposition', async () => {
    const metrics = new Metrics()
    let made = 0
    const gate = Promise.withResolvers<void>()
    metrics.onCollect(() => {
      made += 1
      return gate.promise
    })
    await start({ metrics })
    const answers = Promise.all(['a', 'b', 'c'].map((query) => get(`/metrics?${query}`)))
    while (made === 0) await get('/none')
    await get('/none')
    gate.resolve()
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200])
    expect(made).toBe(1)
  })

  test('a failing exposition closes the connection and is logged', async () => {
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
  '%s is not found where there is nothing but metrics',
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
  ])('%s answers its reasons, or ok', async (path, expected) => {
    let health = sick
    const check = (name: keyof HealthChecks) => () => health[name]?.() ?? []
    await start({ health: { leaderElection: check('leaderElection'), live: check('live'), ready: check('ready') } })
    expect(text(await get(path))).toBe(expected)
    health = {}
    expect(text(await get(path))).toBe(WELL)
  })

  test('of several leases all that are not well are named', async () => {
    await start({ health: { leaderElection: () => ['csi-attacher: late', 'csi-resizer: late'] } })
    const answer = text(await get('/healthz/leader-election'))
    expect(answer).toBe('500 internal server error: csi-attacher: late, csi-resizer: late\n')
  })

  test('the path of the lease is not there without leader election', async () => {
    await start({ health: { live: () => [], ready: () => [] } })
    expect((await get('/healthz/leader-election')).status).toBe(404)
  })
})

describe('clients that misbehave', () => {
  /** Everything the server says until it closes the connection. */
  async function raw(bytes: string): Promise<string> {
    const socket = connect(server?.port ?? 0, '127.0.0.1')
    socket.write(bytes)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(socket, 'close')
    return Buffer.concat(chunks).toString()
  }

  test('a request with a body is answered and its connection closed', async () => {
    await start()
    const said = await raw('POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc')
    expect(said).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Connection: close\r\n/)
  })

  test('headers that are too large are refused', async () => {
    await start()
    const said = await raw(`GET /metrics HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(10_000)}\r\n\r\n`)
    expect(said).toMatch(/^HTTP\/1\.1 431 /)
  })

  test('what is no HTTP is refused', async () => {
    await start()
    expect(await raw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  })

  describe('and come in great numbers', () => {
    const KINDS: readonly (readonly [string, string])[] = [
      ['say nothing', ''],
      ['never end their request', 'GET /metrics HTTP/1.1\r\nHost: x\r\n'],
      ['keep what was answered open', 'GET /none HTTP/1.1\r\nHost: x\r\n\r\n'],
    ]

    test.each(KINDS)('do not keep other clients from an answer: 300 that %s', async (_, bytes) => {
      await start({ health: { live: () => [] } })
      await using clients = await crowd(300, bytes)
      for (let probe = 0; probe < 20; probe += 1) expect(text(await get('/livez'))).toBe('200 ok')
      // The oldest are closed when each had its time to send a request.
      while (clients.open > 64) expect(text(await get('/livez'))).toBe('200 ok')
    })

    test('leave alone who is being answered, however old', async () => {
      const metrics = new Metrics()
      const gate = Promise.withResolvers<void>()
      let asked = false
      metrics.onCollect(() => {
        asked = true
        return gate.promise
      })
      await start({ metrics, health: { live: () => [] } })
      const scrape = get('/metrics')
      while (!asked) await get('/none')
      await using _ = await crowd(100, '')
      expect(text(await get('/livez'))).toBe('200 ok')
      gate.resolve()
      expect((await scrape).status).toBe(200)
    })

    test('with requests whose answers take for ever are the only ones that suffer', async () => {
      const metrics = new Metrics()
      metrics.onCollect(() => new Promise(() => undefined))
      await start({ metrics, health: { live: () => [] } })
      await using _ = await crowd(100, 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n')
      expect(text(await get('/livez'))).toBe('200 ok')
    })
  })

  interface Crowd extends AsyncDisposable {
    /** Of their connections; what the server has closed is known a moment later. */
    readonly open: number
  }

  /** Clients that connect one after the other, say these bytes and then nothing more. */
  async function crowd(count: number, bytes: string): Promise<Crowd> {
    const sockets: Socket[] = []
    const closed: Promise<void>[] = []
    for (let number = 0; number < count; number += 1) {
      const socket = connect(server?.port ?? 0, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.resume()
      sockets.push(socket)
      closed.push(new Promise((resolve) => socket.once('close', () => resolve())))
      await once(socket, 'connect')
      if (bytes !== '') await new Promise((resolve) => socket.write(bytes, resolve))
    }
    return {
      get open() {
        return sockets.filter(({ closed }) => !closed).length
      },
      [Symbol.asyncDispose]: async () => {
        for (const socket of sockets) socket.destroy()
        await Promise.all(closed)
      },
    }
  }

  test('one that keeps its connection open does not delay the close', async () => {
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

  test('in use is refused with the message of Go', async () => {
    const { port } = await start()
    const address = `127.0.0.1:${port}`
    await expect(listen(address)).rejects.toThrow(`listen tcp ${address}: bind: address already in use`)
  })

  test('of another machine is refused', async () => {
    await expect(listen('192.0.2.1:80')).rejects.toThrow(
      'listen tcp 192.0.2.1:80: bind: cannot assign requested address',
    )
  })

  test('that cannot be read is refused', async () => {
    await expect(listen('foo')).rejects.toThrow('listen tcp: address foo: missing port in address')
  })

  test('with a metrics path without slash is refused', async () => {
    const options = { address: ':0', metricsPath: 'm', metrics: new Metrics(), log: recordingLogger() }
    await expect(startHttpServer(options)).rejects.toThrow('metrics path m does not begin with a slash')
  })
})
