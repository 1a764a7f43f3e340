import { FakeClock } from '@csi-sidecars/base/testing'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { FlowOptions } from '../flow/policy.ts'
import { AnsweringServer, get, OBJECT, patch, refuse, UNLIMITED } from '../testing/answering-server.ts'

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
    ['429 without the header', 429, {}, 1000],
    ['503', 503, { 'Retry-After': '3' }, 3000],
  ])('a refused request is sent again after the wait in the response: %s', async (_, code, headers, wait) => {
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

  test.each<[string, FlowOptions]>([
    ['a fixed rate', UNLIMITED],
    ['an adaptive rate', { kind: 'adaptive' }],
  ])('a client with %s delays only a refused request, and no other read, write or watch', async (_, flow) => {
    server.answer = server.first(1, refuse(503, { 'Retry-After': '2' }))
    const client = server.connect(flow)
    const refused = patch(client)
    await server.until(() => server.seen.length === 1)
    await server.quiet()
    const others = [get(client), patch(client), get(client, { lane: 'lease' })]
    const watching = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    await Promise.all(others)
    await watching
    expect(server.seen.map(({ at }) => at)).toEqual([0, 0, 0, 0, 0])
    await clock.advance(2000)
    await refused
    expect(server.seen.map(({ at }) => at).at(-1)).toBe(2000)
  })

  test('a client with an adaptive rate repeats a refused request as soon as another request is answered', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '2' }))
    const client = server.connect({ kind: 'adaptive' })
    const refused = patch(client)
    await server.until(() => server.seen.length === 1)
    await server.quiet()
    const other = get(client)
    await clock.advance(10)
    await other
    await clock.advance(10)
    await refused
    expect(server.seen.map(({ call, at }) => `${call.split(' ')[0]} ${at}`)).toEqual(['PATCH 0', 'GET 10', 'PATCH 20'])
  })

  test('a refused list and a refused watch wait independently of each other', async () => {
    server.answer = server.first(2, refuse(429, { 'Retry-After': '2' }))
    const client = server.connect()
    const listing = client
      .list(PERSISTENT_VOLUMES, { project: () => undefined })
      [Symbol.asyncIterator]()
      .next()
    const watching = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    listing.catch(() => undefined)
    await server.until(() => server.seen.length === 2)
    await server.quiet()
    await get(client)
    await clock.advance(2000)
    expect((await watching).value).toMatchObject({ type: 'END' })
    await server.until(() => server.seen.length === 5)
    expect(server.seen.map(({ at }) => at)).toEqual([0, 0, 0, 2000, 2000])
  })

  test('a refused request of priority `background` fails at once, and delays no other request', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '2' }))
    const client = server.connect()
    await expect(patch(client, { priority: 'background' })).rejects.toMatchObject({ code: 429 })
    expect(await get(client)).toEqual(JSON.parse(OBJECT))
    expect(server.seen.map(({ at }) => at)).toEqual([0, 0])
  })

  test('a refused request of priority `background` does not change the limit of parallel requests', async () => {
    const client = server.connect({ kind: 'adaptive' })
    const before = client.limits.inFlight
    server.answer = refuse(429, { 'Retry-After': '2' })
    for (let event = 0; event < 5; event += 1) await patch(client, { priority: 'background' }).catch(() => undefined)
    expect(server.seen).toHaveLength(5)
    expect(client.limits.inFlight).toBe(before)
  })

  test.each([
    [503, 1, 11],
    [429, 1, 61],
    [429, 10, 11],
  ])('a %d with Retry-After: %d is retried ten times, a 429 for at least a minute', async (code, seconds, tries) => {
    server.answer = refuse(code, { 'Retry-After': `${seconds}` })
    const result = patch(server.connect()).catch((error: unknown) => error)
    for (let attempt = 1; attempt <= tries; attempt += 1) {
      await server.until(() => server.seen.length === attempt)
      await server.quiet()
      await clock.advance(1000 * seconds)
    }
    expect(await result).toMatchObject({ code, retryAfterMs: 1000 * seconds })
    expect(server.seen).toHaveLength(tries)
  })

  test.each(['work', 'lease'] as const)('a Retry-After of an hour does not delay other requests: %s', async (lane) => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '3600' }))
    const client = server.connect()
    const hour = { code: 429, retryAfterMs: 3_600_000, outcomeUnknown: false }
    await expect(patch(client, { lane })).rejects.toMatchObject(hour)
    expect(await patch(client, { lane })).toEqual(JSON.parse(OBJECT))
  })

  test('a Retry-After of an hour fails a refused watch at once', async () => {
    server.answer = server.first(1, refuse(429, { 'Retry-After': '3600' }))
    const client = server.connect()
    const first = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    await expect(first).rejects.toMatchObject({ code: 429, retryAfterMs: 3_600_000 })
  })

  test.each([
    ['2', []],
    ['10', ['10s']],
    ['3600', ['3600s']],
  ])('a Retry-After of ten seconds or more is logged once for all waiting requests: %s s', async (seconds, logged) => {
    server.answer = server.first(3, refuse(503, { 'Retry-After': seconds }))
    const log = recordingLogger()
    const client = server.connect(UNLIMITED, undefined, { log })
    const results = [1, 2, 3].map(() => patch(client).catch(() => undefined))
    await server.until(() => server.seen.length === 3)
    await server.quiet()
    await clock.advance(60_000)
    await Promise.all(results)
    const lines = log.lines.filter(({ message }) => message === 'The API server asks to wait')
    expect(lines.map(({ pairs }) => pairs['retryAfter'])).toEqual(logged)
  })

  test.each([500, 503, 404])('the client does not retry a %d without Retry-After', async (code) => {
    server.answer = refuse(code)
    await expect(patch(server.connect())).rejects.toMatchObject({ code })
    expect(server.seen).toHaveLength(1)
  })
})

describe('refusals', () => {
  const LINE = 'The API server limits requests'

  test('the client logs the number of requests refused with 429 every ten seconds', async () => {
    const log = recordingLogger()
    const client = server.connect({ kind: 'adaptive' }, undefined, { log })
    server.answer = refuse(429, { 'Retry-After': '5' })
    const stop = new AbortController()
    const results = [1, 2].map(() => patch(client, { signal: stop.signal }).catch(() => undefined))
    await server.until(() => server.seen.length === 2)
    await server.quiet()
    expect(client.limits).toEqual({ inFlight: 1, refusals: { count: 2, since: clock.now() } })
    await clock.advance(4999)
    stop.abort(new Error('enough'))
    await Promise.all(results)
    await clock.advance(5001)
    const lines = log.lines.filter(({ message }) => message === LINE)
    expect(lines.map(({ level, pairs }) => [level, pairs])).toEqual([
      ['warning', { refused: 2, within: '10s', inFlight: 1 }],
    ])
    await clock.advance(10_000)
    expect(client.limits.refusals).toBeUndefined()
  })

  test('the count of throttled requests does not include refusals with 503', async () => {
    const client = server.connect()
    server.answer = server.first(1, refuse(503, { 'Retry-After': '1' }))
    const result = patch(client)
    await server.until(() => server.seen.length === 1)
    await server.quiet()
    expect(client.limits).toEqual({ inFlight: undefined, refusals: undefined })
    await clock.advance(1000)
    await result
  })
})
