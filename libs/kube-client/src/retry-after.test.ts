import { FakeClock } from '@csi-sidecars/base'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { AnsweringServer, get, OBJECT, patch, refuse, UNLIMITED } from './testing/answering-server.ts'

let clock: FakeClock
let server: AnsweringServer
beforeEach(async () => {
  clock = new FakeClock()
  server = await AnsweringServer.start(clock)
})
afterEach(() => server.close())

describe('Retry-After', () => {
  test.each([
    ['429', 429, { 'Retry-After': '2' }, 2000],
    ['429 that does not say how long', 429, {}, 1000],
    ['503', 503, { 'Retry-After': '3' }, 3000],
  ])('of a %s is heeded and the request sent again', async (_, code, headers, wait) => {
    server.answer = server.first(1, refuse(code, headers))
    const result = patch(server.connect())
    await server.until(() => server.seen.length === 1)
    await server.quiet()
    await clock.advance(wait - 1)
    await server.quiet()
    expect(server.seen).toHaveLength(1)
    await clock.advance(1)
    expect(await result).toEqual(JSON.parse(OBJECT))
  })

  test('holds back all other work, reads and watches included, but never the lease', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '2' }))
    const client = server.connect()
    const results = [patch(client)]
    await server.until(() => server.seen.length === 1)
    await server.quiet()
    results.push(get(client), patch(client), get(client, { lane: 'lease' }))
    const watching = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    await server.until(() => server.seen.length === 2)
    await server.quiet()
    expect(server.seen.map(({ what, at }) => `${what} ${at}`)).toEqual([
      'PATCH /api/v1/persistentvolumes/pv 0',
      'GET /api/v1/persistentvolumes/pv 0',
    ])
    await clock.advance(2000)
    await Promise.all(results)
    await server.until(() => server.seen.length === 6)
    expect(server.seen.slice(2).map(({ at }) => at)).toEqual([2000, 2000, 2000, 2000])
    expect((await watching).value).toMatchObject({ type: 'END' })
  })

  test('of a request that may as well not be sent is its result, and holds back nobody', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '2' }))
    const client = server.connect()
    await expect(patch(client, { priority: 'spare' })).rejects.toMatchObject({ code: 429 })
    expect(await get(client)).toEqual(JSON.parse(OBJECT))
    expect(server.seen.map(({ at }) => at)).toEqual([0, 0])
  })

  test('is heeded ten times, then the refusal is the result', async () => {
    server.answer = refuse(429, { 'Retry-After': '1' })
    const result = patch(server.connect()).catch((error: unknown) => error)
    for (let retry = 1; retry <= 11; retry += 1) {
      await server.until(() => server.seen.length === retry)
      await server.quiet()
      await clock.advance(1000)
    }
    expect(await result).toMatchObject({ code: 429, reason: 'TooManyRequests', retryAfterMs: 1000 })
    expect(server.seen).toHaveLength(11)
  })

  test('of an hour fails its caller, who is told; all others wait for half a minute', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '3600' }))
    const client = server.connect()
    await expect(patch(client)).rejects.toMatchObject({ code: 429, retryAfterMs: 3_600_000, outcomeUnknown: false })
    const other = patch(client)
    await clock.advance(29_999)
    await server.quiet()
    expect(server.seen).toHaveLength(1)
    await clock.advance(1)
    expect(await other).toEqual(JSON.parse(OBJECT))
  })

  test.each([
    ['2', []],
    ['10', ['10s 10s']],
    ['3600', ['3600s 30s']],
  ])('of %s s is told of in the log where it is long, once for all who wait', async (seconds, told) => {
    server.answer = server.first(3, refuse(503, { 'Retry-After': seconds }))
    const log = recordingLogger()
    const client = server.connect(UNLIMITED, undefined, log)
    const results = [1, 2, 3].map(() => patch(client).catch(() => undefined))
    await server.until(() => server.seen.length === 3)
    await server.quiet()
    await clock.advance(60_000)
    await Promise.all(results)
    const lines = log.lines.filter(({ message }) => message === 'The API server asks to wait')
    expect(lines.map(({ pairs }) => `${pairs['retryAfter']} ${pairs['pause']}`)).toEqual(told)
  })

  test('of an hour for the lease fails at once, and holds its lane for a second at most', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '3600' }))
    const client = server.connect()
    await expect(patch(client, { lane: 'lease' })).rejects.toMatchObject({ code: 429, retryAfterMs: 3_600_000 })
    const next = patch(client, { lane: 'lease' })
    await clock.advance(1000)
    expect(await next).toEqual(JSON.parse(OBJECT))
    // And it says nothing about other work.
    await patch(client)
  })

  test('of an hour on opening a watch fails the watch and holds all others for half a minute', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '3600' }))
    const client = server.connect()
    const first = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    await expect(first).rejects.toMatchObject({ code: 429, retryAfterMs: 3_600_000 })
    const next = get(client)
    await clock.advance(30_000)
    expect(await next).toEqual(JSON.parse(OBJECT))
  })

  test.each([500, 503, 404])('is not made up for a %d without it', async (code) => {
    server.answer = refuse(code)
    await expect(patch(server.connect())).rejects.toMatchObject({ code })
    expect(server.seen).toHaveLength(1)
  })

  test('of a request that was let pass but had to wait for a connection holds it back too', async () => {
    server.answer = refuse(429, { 'Retry-After': '2' })
    const client = server.connect()
    const stop = new AbortController()
    const results = Array.from({ length: 40 }, () => patch(client, { signal: stop.signal }).catch(() => undefined))
    await server.until(() => server.seen.length > 0)
    await server.quiet()
    // A few were on their way when the first refusal came; the rest of the forty were not.
    expect(server.seen.length).toBeLessThan(20)
    stop.abort(new Error('enough'))
    await Promise.all(results)
  })
})
