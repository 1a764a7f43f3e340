import type { ServerResponse } from 'node:http'
import { onPhase, type RunPhase } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { PERSISTENT_VOLUMES, SECRETS } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type Credentials, fixedCredentials } from '../config/cluster-config.ts'
import type { OwnedKubeClient } from '../create-client.ts'
import { AnsweringServer, get, OBJECT, ok, patch, refuse, UNLIMITED } from '../testing/answering-server.ts'
import { clientWhileLeading } from './while-leading.ts'

let clock: FakeClock
let server: AnsweringServer
beforeEach(async () => {
  clock = new FakeClock()
  server = await AnsweringServer.start(clock)
})
afterEach(() => server.close())

describe('write guards', () => {
  test('the guard of a write runs again right before each attempt', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '2' }))
    const asked: number[] = []
    const client = clientWhileLeading(server.connect(), () => asked.push(clock.monotonic()))
    const result = patch(client)
    await server.until(() => server.seen.length === 1)
    await server.quiet()
    await clock.advance(2000)
    await result
    expect(asked).toEqual([0, 2000])
  })

  test('a write is not sent if its guard throws', async () => {
    let leading = true
    const client = clientWhileLeading(server.connect({ kind: 'bucket', qps: 1, burst: 1, perGroup: false }), () => {
      if (!leading) throw new Error('the lease is lost')
    })
    await patch(client)
    const late = patch(client).catch((error: unknown) => error)
    leading = false
    await clock.advance(1000)
    expect(await late).toEqual(new Error('the lease is lost'))
    expect(server.seen).toHaveLength(1)
    leading = true
    await clock.advance(1000)
    await patch(client)
    expect(server.seen).toHaveLength(2)
  })

  test('the guard of writes does not run for reads', async () => {
    const client = clientWhileLeading(server.connect(), () => {
      throw new Error('the lease is lost')
    })
    await client.get(PERSISTENT_VOLUMES, { name: 'pv' })
    expect(server.seen).toHaveLength(1)
  })
})

test('a client of `clientWhileLeading` reports the phase `writing` during a write, but not during a read', async () => {
  const client = clientWhileLeading(server.connect(), () => undefined)
  const { signal } = new AbortController()
  const phases: RunPhase[] = []
  onPhase(signal, (phase) => phases.push(phase))
  await client.get(PERSISTENT_VOLUMES, { name: 'pv' }, { signal })
  expect(phases).toEqual([])
  await client.patch(PERSISTENT_VOLUMES, { name: 'pv' }, { kind: 'merge', body: {} }, { signal })
  expect(phases).toEqual(['writing', 'deciding'])
})

describe('connections', () => {
  test('consecutive requests are sent on one connection', async () => {
    const client = server.connect()
    for (let i = 0; i < 5; i += 1) await patch(client)
    expect(new Set(server.seen.map(({ socket }) => socket)).size).toBe(1)
  })

  test('requests for the Lease use a separate connection', async () => {
    const client = server.connect()
    await patch(client)
    await patch(client, { lane: 'lease' })
    expect(new Set(server.seen.map(({ socket }) => socket)).size).toBe(2)
  })

  test('if the server has closed its connection, the client repeats a read, but never a write', async () => {
    const drop = (response: ServerResponse): void => void response.destroy()
    const client = server.connect()
    await get(client)
    server.answer = (response, request) =>
      server.seen.length === 2 || server.seen.length === 4 ? drop(response) : ok(response, request)
    expect(await get(client)).toEqual(JSON.parse(OBJECT))
    expect(server.seen).toHaveLength(3)
    const failed = await patch(client).catch((error: unknown) => error)
    expect(failed).toMatchObject({
      code: 0,
      outcomeUnknown: true,
      message: `Patch "http://127.0.0.1:${server.port}/api/v1/persistentvolumes/pv": EOF`,
    })
    expect(server.seen).toHaveLength(4)
  })

  test('the client closes a connection that has been idle for long', async () => {
    const client = server.connect()
    await patch(client)
    const socket = server.seen[0]?.socket
    await clock.advance(101_000)
    await server.until(() => socket?.destroyed === true)
    expect(clock.pending).toBe(0)
  })

  test('the client does not use a connection again if the server ends it', async () => {
    server.answer = (response) => void response.writeHead(200, { Connection: 'close' }).end(OBJECT)
    const client = server.connect()
    await patch(client)
    await patch(client)
    expect(new Set(server.seen.map(({ socket }) => socket)).size).toBe(2)
  })
})

describe('a call', () => {
  test('an aborted request rejects with the reason of its signal, and closes its connection', async () => {
    server.answer = () => undefined
    const stop = new AbortController()
    const result = patch(server.connect(), { signal: stop.signal }).catch((error: unknown) => error)
    await server.until(() => server.seen.length === 1)
    const reason = new Error('enough')
    stop.abort(reason)
    expect(await result).toBe(reason)
    await server.until(() => server.seen[0]?.socket.destroyed === true)
    expect(clock.pending).toBe(0)
  })

  test('a request without an answer fails with the deadline error of Go', async () => {
    server.answer = () => undefined
    const result = patch(server.connect(), { timeoutMs: 5000 }).catch((error: unknown) => error)
    await server.until(() => server.seen.length === 1)
    await clock.advance(5000)
    const url = `http://127.0.0.1:${server.port}/api/v1/persistentvolumes/pv`
    expect(await result).toMatchObject({ code: 0, message: `Patch "${url}": context deadline exceeded` })
  })

  test.each([
    ['a write', 35_000, true, (client: OwnedKubeClient) => patch(client)],
    ['a read', 60_000, false, (client: OwnedKubeClient) => get(client)],
  ])('a request (%s) that is never answered ends after %d ms', async (_, ms, outcomeUnknown, send) => {
    server.answer = () => undefined
    const result = send(server.connect()).catch((error: unknown) => error)
    await server.until(() => server.seen.length === 1)
    await clock.advance(ms - 1)
    await server.quiet()
    expect(await Promise.race([result, clock.settle().then(() => 'waits')])).toBe('waits')
    await clock.advance(1)
    expect(await result).toMatchObject({ code: 0, outcomeUnknown })
  })

  test('a request fails if its answer, even a refusal, is too long for a string', async () => {
    const message = 'the answer is longer than 536870888 bytes'
    server.answer = (response) => void response.writeHead(200, { 'Content-Length': '600000000' }).write('{')
    await expect(get(server.connect())).rejects.toThrow(message)
    server.answer = (response) => void response.writeHead(500, { 'Content-Length': '600000000' }).write('{')
    await expect(get(server.connect())).rejects.toThrow(message)
    const watching = server.connect().watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]()
    await expect(watching.next()).rejects.toThrow(message)
  })

  test('a refused connection fails a request with the dial error of Go', async () => {
    const client = server.connect()
    const gone = server.port
    server.stopListening()
    await server.quiet()
    await expect(get(client)).rejects.toMatchObject({
      code: 0,
      message: `Get "http://127.0.0.1:${gone}/api/v1/persistentvolumes/pv": dial tcp 127.0.0.1:${gone}: connect: connection refused`,
    })
    // The write was not sent, so its outcome is known.
    await expect(patch(client)).rejects.toMatchObject({ code: 0, outcomeUnknown: false })
  })

  test('closing the client fails running and later requests', async () => {
    server.answer = () => undefined
    const client = server.connect()
    const result = patch(client).catch((error: unknown) => error)
    await server.until(() => server.seen.length === 1)
    client.close()
    expect(await result).toMatchObject({ message: 'the client is closed' })
    await expect(patch(client)).rejects.toThrow('the client is closed')
  })
})

describe('a 401', () => {
  const renewing = (tokens: string[]): Credentials => ({
    authorization: () => tokens[0],
    replaceRefused: async () => {
      tokens.shift()
      return tokens.length > 0
    },
    certificate: () => undefined,
  })

  test('a 401 causes a second attempt if another token is available', async () => {
    server.answer = server.first(1, refuse(401))
    await patch(server.connect(UNLIMITED, renewing(['old', 'new'])))
    expect(server.seen.map(({ authorization }) => authorization)).toEqual(['old', 'new'])
  })

  const hanging = new Promise<never>(() => undefined)
  test.each<[string, Partial<Credentials>]>([
    ['never arrive', { authorization: () => hanging }],
    ['are never renewed', { replaceRefused: () => hanging }],
  ])('a request with a 401 ends at once when it is aborted, even if credentials %s', async (_, change) => {
    server.answer = refuse(401)
    const controller = new AbortController()
    const client = server.connect(UNLIMITED, { ...renewing(['old', 'new']), ...change })
    const result = patch(client, { signal: controller.signal }).catch((error: unknown) => error)
    await server.quiet()
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await result).toBe(reason)
  })

  test('a second 401 fails the request, even if another token is available', async () => {
    server.answer = refuse(401)
    await expect(patch(server.connect(UNLIMITED, renewing(['old', 'new', 'newer'])))).rejects.toMatchObject({
      code: 401,
    })
    expect(server.seen).toHaveLength(2)
  })

  test('a 401 to a watch also renews the credentials', async () => {
    server.answer = server.first(1, refuse(401))
    const frames = server.connect(UNLIMITED, renewing(['old', 'new'])).watch(PERSISTENT_VOLUMES, {})
    for await (const frame of frames) expect(frame.type).toBe('END')
    expect(server.seen.map(({ authorization }) => authorization)).toEqual(['old', 'new'])
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
      'a 403 with a text',
      refuse(403, {}, 'keep out'),
      { code: 403, reason: 'Forbidden', message: 'keep out (get secrets creds)' },
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
    ['a 504 of a read', refuse(504), { code: 504, reason: 'Timeout', outcomeUnknown: false }],
    ['a bare 418', refuse(418), { code: 418, reason: 'Unknown' }],
  ])('a request throws the matching error if the server refuses it with %s', async (_, how, error) => {
    server.answer = how
    await expect(server.connect().get(SECRETS, { name: 'creds', namespace: 'ns' })).rejects.toMatchObject(error)
  })

  test.each([
    ['a bare 504', refuse(504), true],
    ['a 504 in a Status', refuse(504, {}, status({ reason: 'Timeout', message: 'timed out' })), true],
    ['a 500', refuse(500), false],
    ['an answer that is no JSON', refuse(200, {}, '{"metadata":{"na'), true],
  ])('after the failure %s the server may have executed a write: %s', async (_, how, outcomeUnknown) => {
    server.answer = how
    await expect(patch(server.connect())).rejects.toMatchObject({ outcomeUnknown })
  })

  test('the client refuses to send an invalid path or header', async () => {
    await expect(server.connect().discover('/api HTTP/1.1\r\nX: y')).rejects.toThrow('invalid request path')
    await expect(async () => get(server.connect(UNLIMITED, fixedCredentials('Bearer a\r\nX: y')))).rejects.toThrow(
      'invalid header field value for "Authorization"',
    )
    expect(server.seen).toHaveLength(0)
  })
})
