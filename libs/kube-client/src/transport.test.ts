import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { FakeClock } from '@csi-sidecars/base'
import { PERSISTENT_VOLUMES, type PersistentVolume, SECRETS } from '@csi-sidecars/kube-types'
import { Metrics, silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { CallOptions } from './client.ts'
import { type Credentials, fixedCredentials } from './config/credentials.ts'
import { createKubeClient, type OwnedKubeClient } from './create-client.ts'
import type { FlowOptions } from './flow/flow-options.ts'
import { guarded } from './guarded.ts'

interface Seen {
  readonly what: string
  readonly authorization: string | undefined
  readonly at: number
  readonly socket: Socket
}

const OBJECT = JSON.stringify({ metadata: { name: 'pv', resourceVersion: '1' } })
const UNLIMITED: FlowOptions = { kind: 'bucket', qps: -1, burst: 0, perGroup: false }

let clock: FakeClock
let server: Server
let seen: Seen[]
let answer: (response: ServerResponse, request: IncomingMessage) => void
let clients: OwnedKubeClient[]
let metrics: Metrics

beforeEach(async () => {
  clock = new FakeClock()
  metrics = new Metrics()
  seen = []
  clients = []
  answer = ok
  server = createServer((request, response) => {
    const { method, url, headers, socket } = request
    seen.push({ what: `${method} ${url}`, authorization: headers.authorization, at: clock.monotonic(), socket })
    request.resume().on('end', () => answer(response, request))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  for (const client of clients) client.close()
  server.closeAllConnections()
  server.close()
})

const ok = (response: ServerResponse): void => void response.end(OBJECT)
const refuse =
  (code: number, headers: Record<string, string> = {}, body = '') =>
  (response: ServerResponse): void =>
    void response.writeHead(code, { 'Content-Type': 'text/plain', ...headers }).end(body)
/** Answers the first requests one way, all others well. */
const first =
  (count: number, how: (response: ServerResponse) => void) =>
  (response: ServerResponse): void =>
    seen.length <= count ? how(response) : ok(response)

const port = (): number => (server.address() as AddressInfo).port

function connect(
  flow: FlowOptions = UNLIMITED,
  credentials: Credentials = fixedCredentials('Bearer t'),
): OwnedKubeClient {
  const config = {
    origin: `http://127.0.0.1:${port()}`,
    basePath: '',
    tls: undefined,
    credentials,
    headers: [],
    proxy: undefined,
  }
  const client = createKubeClient({ config, flow, clock, log: silentLogger, metrics, userAgent: 'test' })
  clients.push(client)
  return client
}

const get = (client: OwnedKubeClient, options?: CallOptions): Promise<PersistentVolume> =>
  client.get(PERSISTENT_VOLUMES, { name: 'pv' }, options)
const patch = (client: Pick<OwnedKubeClient, 'patch'>, options?: CallOptions): Promise<PersistentVolume> =>
  client.patch(PERSISTENT_VOLUMES, { name: 'pv' }, { kind: 'merge', body: {} }, options)

/** Lets real sockets do their work while the clock stands still. */
async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 5000 && !condition(); turn += 1) await clock.settle()
  expect(condition()).toBe(true)
}
/** Gives sockets the time in which something that must not happen would have happened. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await clock.settle()
}

describe('Retry-After', () => {
  test.each([
    ['429', 429, { 'Retry-After': '2' }, 2000],
    ['429 that does not say how long', 429, {}, 1000],
    ['503', 503, { 'Retry-After': '3' }, 3000],
  ])('of a %s is heeded and the request sent again', async (_, code, headers, wait) => {
    answer = first(1, refuse(code, headers))
    const result = patch(connect())
    await until(() => seen.length === 1)
    await quiet()
    await clock.advance(wait - 1)
    await quiet()
    expect(seen).toHaveLength(1)
    await clock.advance(1)
    expect(await result).toEqual(JSON.parse(OBJECT))
  })

  test('holds back all other work, reads and watches included, but never the lease', async () => {
    answer = first(1, refuse(429, { 'Retry-After': '2' }))
    const client = connect()
    const results = [patch(client)]
    await until(() => seen.length === 1)
    await quiet()
    results.push(get(client), patch(client), get(client, { lane: 'lease' }))
    const watching = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    await until(() => seen.length === 2)
    await quiet()
    expect(seen.map(({ what, at }) => `${what} ${at}`)).toEqual([
      'PATCH /api/v1/persistentvolumes/pv 0',
      'GET /api/v1/persistentvolumes/pv 0',
    ])
    await clock.advance(2000)
    await Promise.all(results)
    await until(() => seen.length === 6)
    expect(seen.slice(2).map(({ at }) => at)).toEqual([2000, 2000, 2000, 2000])
    expect((await watching).value).toMatchObject({ type: 'END' })
  })

  test('is heeded ten times, then the refusal is the result', async () => {
    answer = refuse(429, { 'Retry-After': '1' })
    const result = patch(connect()).catch((error: unknown) => error)
    for (let retry = 1; retry <= 11; retry += 1) {
      await until(() => seen.length === retry)
      await quiet()
      await clock.advance(1000)
    }
    expect(await result).toMatchObject({ code: 429, reason: 'TooManyRequests', retryAfterMs: 1000 })
    expect(seen).toHaveLength(11)
  })

  test.each([500, 503, 404])('is not made up for a %d without it', async (code) => {
    answer = refuse(code)
    await expect(patch(connect())).rejects.toMatchObject({ code })
    expect(seen).toHaveLength(1)
  })

  test('of a request that was let pass but had to wait for a connection holds it back too', async () => {
    answer = refuse(429, { 'Retry-After': '2' })
    const client = connect()
    const stop = new AbortController()
    const results = Array.from({ length: 40 }, () => patch(client, { signal: stop.signal }).catch(() => undefined))
    await until(() => seen.length > 0)
    await quiet()
    // A few were on their way when the first refusal came; the rest of the forty were not.
    expect(seen.length).toBeLessThan(20)
    stop.abort(new Error('enough'))
    await Promise.all(results)
  })
})

describe('the guard of a write', () => {
  test('has its say after the wait, right before the bytes leave', async () => {
    answer = first(1, refuse(429, { 'Retry-After': '2' }))
    const asked: number[] = []
    const client = guarded(connect(), () => asked.push(clock.monotonic()))
    const result = patch(client)
    await until(() => seen.length === 1)
    await quiet()
    await clock.advance(2000)
    await result
    expect(asked).toEqual([0, 2000])
  })

  test('that throws keeps the write from being sent, also one that waited for its turn', async () => {
    let leading = true
    const client = guarded(connect({ kind: 'bucket', qps: 1, burst: 1, perGroup: false }), () => {
      if (!leading) throw new Error('the lease is lost')
    })
    await patch(client)
    const late = patch(client).catch((error: unknown) => error)
    leading = false
    await clock.advance(1000)
    expect(await late).toEqual(new Error('the lease is lost'))
    expect(seen).toHaveLength(1)
    leading = true
    await clock.advance(1000)
    await patch(client)
    expect(seen).toHaveLength(2)
  })

  test('is not asked for reads', async () => {
    const client = guarded(connect(), () => {
      throw new Error('the lease is lost')
    })
    await client.get(PERSISTENT_VOLUMES, { name: 'pv' })
    expect(seen).toHaveLength(1)
  })
})

describe('connections', () => {
  test('are kept and used again, one for as many requests as follow each other', async () => {
    const client = connect()
    for (let i = 0; i < 5; i += 1) await patch(client)
    expect(new Set(seen.map(({ socket }) => socket)).size).toBe(1)
  })

  test('of the lease are its own', async () => {
    const client = connect()
    await patch(client)
    await patch(client, { lane: 'lease' })
    expect(new Set(seen.map(({ socket }) => socket)).size).toBe(2)
  })

  test('that turn out to be closed cost a read nothing; a write is not sent twice', async () => {
    const drop = (response: ServerResponse): void => void response.destroy()
    const client = connect()
    await get(client)
    answer = (response) => (seen.length === 2 || seen.length === 4 ? drop(response) : ok(response))
    expect(await get(client)).toEqual(JSON.parse(OBJECT))
    expect(seen).toHaveLength(3)
    const failed = await patch(client).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      code: 0,
      message: `Patch "http://127.0.0.1:${port()}/api/v1/persistentvolumes/pv": EOF`,
    })
    expect(seen).toHaveLength(4)
  })

  test('are closed when they were idle for long', async () => {
    const client = connect()
    await patch(client)
    const socket = seen[0]?.socket
    await clock.advance(101_000)
    await until(() => socket?.destroyed === true)
    expect(clock.pending).toBe(0)
  })

  test('that end by the server are not used again', async () => {
    answer = (response) => void response.writeHead(200, { Connection: 'close' }).end(OBJECT)
    const client = connect()
    await patch(client)
    await patch(client)
    expect(new Set(seen.map(({ socket }) => socket)).size).toBe(2)
  })
})

describe('a call', () => {
  test('ends with the reason of its signal, and the request with it', async () => {
    answer = () => undefined
    const stop = new AbortController()
    const result = patch(connect(), { signal: stop.signal }).catch((error: unknown) => error)
    await until(() => seen.length === 1)
    const reason = new Error('enough')
    stop.abort(reason)
    expect(await result).toBe(reason)
    await until(() => seen[0]?.socket.destroyed === true)
    expect(clock.pending).toBe(0)
  })

  test('that is not answered in time is an error that Go users know', async () => {
    answer = () => undefined
    const result = patch(connect(), { timeoutMs: 5000 }).catch((error: unknown) => error)
    await until(() => seen.length === 1)
    await clock.advance(5000)
    const url = `http://127.0.0.1:${port()}/api/v1/persistentvolumes/pv`
    expect(await result).toMatchObject({ code: 0, message: `Patch "${url}": context deadline exceeded` })
  })

  test('to a server that is not there says so', async () => {
    const client = connect()
    const gone = port()
    server.close()
    await quiet()
    await expect(get(client)).rejects.toMatchObject({
      code: 0,
      message: `Get "http://127.0.0.1:${gone}/api/v1/persistentvolumes/pv": dial tcp 127.0.0.1:${gone}: connect: connection refused`,
    })
  })

  test('fails when the client is closed', async () => {
    answer = () => undefined
    const client = connect()
    const result = patch(client).catch((error: unknown) => error)
    await until(() => seen.length === 1)
    client.close()
    expect(await result).toMatchObject({ message: 'the client is closed' })
    await expect(patch(client)).rejects.toThrow('the client is closed')
  })
})

describe('a 401', () => {
  const renewing = (tokens: string[]): Credentials => ({
    authorization: () => tokens[0],
    refused: async () => {
      tokens.shift()
      return tokens.length > 0
    },
    certificate: () => undefined,
  })

  test('makes the request be sent again when there is another token', async () => {
    answer = first(1, refuse(401))
    await patch(connect(UNLIMITED, renewing(['old', 'new'])))
    expect(seen.map(({ authorization }) => authorization)).toEqual(['old', 'new'])
  })

  const hanging = new Promise<never>(() => undefined)
  test.each<[string, Partial<Credentials>]>([
    ['to credentials that never come', { authorization: () => hanging }],
    ['to credentials that are never renewed', { refused: () => hanging }],
  ])('or anything else does not hold a call whose signal is aborted, due %s', async (_, change) => {
    answer = refuse(401)
    const controller = new AbortController()
    const client = connect(UNLIMITED, { ...renewing(['old', 'new']), ...change })
    const result = patch(client, { signal: controller.signal }).catch((error: unknown) => error)
    await quiet()
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await result).toBe(reason)
  })

  test('for the second token too is the result', async () => {
    answer = refuse(401)
    await expect(patch(connect(UNLIMITED, renewing(['old', 'new', 'newer'])))).rejects.toMatchObject({ code: 401 })
    expect(seen).toHaveLength(2)
  })

  test('of a watch does the same', async () => {
    answer = first(1, refuse(401))
    const frames = connect(UNLIMITED, renewing(['old', 'new'])).watch(PERSISTENT_VOLUMES, {})
    for await (const frame of frames) expect(frame.type).toBe('END')
    expect(seen.map(({ authorization }) => authorization)).toEqual(['old', 'new'])
  })
})

describe('errors', () => {
  const status = (fields: object): string => JSON.stringify({ kind: 'Status', status: 'Failure', ...fields })
  test.each([
    [
      'a Status',
      refuse(404, {}, status({ reason: 'NotFound', code: 404, message: 'secrets "creds" not found' })),
      { code: 404, reason: 'NotFound', message: 'secrets "creds" not found' },
    ],
    [
      'a bare 404',
      refuse(404),
      {
        code: 404,
        reason: 'NotFound',
        message: 'the server could not find the requested resource (get secrets creds)',
      },
    ],
    [
      'a 403 in words',
      refuse(403, {}, 'go away'),
      { code: 403, reason: 'Forbidden', message: 'go away (get secrets creds)' },
    ],
    [
      'a page of HTML',
      refuse(502, { 'Content-Type': 'text/html' }, '<h1>Bad gateway</h1>'),
      {
        code: 502,
        reason: 'InternalError',
        message:
          'an error on the server ("<h1>Bad gateway</h1>") has prevented the request from succeeding (get secrets creds)',
      },
    ],
    ['a bare 418', refuse(418), { code: 418, reason: 'Unknown' }],
  ])('%s', async (_, how, error) => {
    answer = how
    await expect(connect().get(SECRETS, { name: 'creds', namespace: 'ns' })).rejects.toMatchObject(error)
  })

  test('what cannot be a path is never sent', async () => {
    await expect(connect().discover('/api HTTP/1.1\r\nX: y')).rejects.toThrow('invalid request path')
    await expect(async () => get(connect(UNLIMITED, fixedCredentials('Bearer a\r\nX: y')))).rejects.toThrow(
      'invalid header field value for "Authorization"',
    )
    expect(seen).toHaveLength(0)
  })
})

describe('the rate', () => {
  test('of a bucket is exact, watches do not count, and the lease has as much for itself', async () => {
    const client = connect({ kind: 'bucket', qps: 5, burst: 2, perGroup: false })
    const results = Array.from({ length: 4 }, () => patch(client))
    results.push(...Array.from({ length: 2 }, () => patch(client, { lane: 'lease' })))
    const watching = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    await until(() => seen.length === 5)
    for (let i = 0; i < 2; i += 1) {
      await clock.advance(200)
      await quiet()
    }
    await Promise.all(results)
    await watching
    expect(seen.map(({ at }) => at)).toEqual([0, 0, 0, 0, 0, 200, 400])
  })

  test('of zero gives each group a bucket of its own', async () => {
    const client = connect({ kind: 'bucket', qps: 5, burst: 1, perGroup: true })
    const { LEASES } = await import('@csi-sidecars/kube-types')
    const other = client.get(LEASES, { name: 'l', namespace: 'ns' })
    const results = [get(client), get(client)]
    await until(() => seen.length === 2)
    await clock.advance(200)
    await Promise.all([other, ...results])
    expect(seen.map(({ at }) => at)).toEqual([0, 0, 200])
  })
})

test('the server is called in texts and metrics as it was written, with a port that is its own', async () => {
  const config = {
    origin: 'https://10.0.0.1:443',
    basePath: '/base',
    tls: undefined,
    credentials: fixedCredentials(undefined),
    headers: [],
    proxy: () => Promise.reject(new Error('no way')),
  }
  const client = createKubeClient({ config, flow: UNLIMITED, clock, log: silentLogger, metrics, userAgent: 'test' })
  clients.push(client)
  await expect(get(client)).rejects.toThrow('Get "https://10.0.0.1:443/base/api/v1/persistentvolumes/pv": no way')
  expect(await metrics.text()).toContain(
    'rest_client_requests_total{code="<error>",host="10.0.0.1:443",method="GET"} 1',
  )
})

test('every attempt is counted', async () => {
  answer = first(1, refuse(429, { 'Retry-After': '0' }))
  await patch(connect())
  const text = await metrics.text()
  const host = `host="127.0.0.1:${port()}"`
  for (const line of [
    `rest_client_requests_total{code="429",${host},method="PATCH"} 1`,
    `rest_client_requests_total{code="200",${host},method="PATCH"} 1`,
    `rest_client_request_retries_total{code="200",${host},verb="PATCH"} 1`,
    `rest_client_request_duration_seconds_count{${host},verb="PATCH"} 2`,
    `rest_client_rate_limiter_duration_seconds_count{${host},verb="PATCH"} 2`,
    `rest_client_request_size_bytes_sum{${host},verb="PATCH"} 4`,
    `rest_client_response_size_bytes_sum{${host},verb="PATCH"} ${OBJECT.length}`,
  ]) {
    expect(text.split('\n')).toContain(line)
  }
})
