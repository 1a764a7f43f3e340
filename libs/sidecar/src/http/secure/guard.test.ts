import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError } from '@csi-sidecars/kube-client'
import { Metrics } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { makeAuthority } from '@csi-sidecars/testkit'
import { afterEach, describe, expect, test } from '@jest/globals'
import { ScriptedReviews } from '../../testing/scripted-reviews.ts'
import { SecureServer } from '../../testing/secure-server.ts'
import type { HttpServer } from '../listener.ts'
import { startHttpServer } from '../server.ts'
import { createGuard } from './guard.ts'
import { Reviews } from './reviews.ts'

let server: HttpServer | undefined
afterEach(() => server?.close())

const clock = new FakeClock()
const log = recordingLogger()
afterEach(() => {
  log.lines.length = 0
})

/** Starts the endpoint with plain HTTP. `api` answers the TokenReviews and SubjectAccessReviews. */
async function start(api: ScriptedReviews, time = clock): Promise<void> {
  const reviews = new Reviews(time, () => api.client)
  server = await startHttpServer({
    address: '127.0.0.1:0',
    metricsPath: '/metrics',
    metrics: new Metrics(),
    health: { live: () => [] },
    log,
    guard: createGuard({ alwaysAllow: ['/livez'], reviews, log }),
  })
}

async function ask(token: string | undefined, path = '/metrics', method = 'GET'): Promise<Response> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return await fetch(`http://127.0.0.1:${server?.port}${path}`, { headers, method })
}

const PROMETHEUS = {
  username: 'system:serviceaccount:monitoring:prometheus',
  uid: 'u',
  groups: ['a'],
  extra: { x: ['y'] },
}

describe('the authorization of requests', () => {
  test('with --authorize-metrics a request gets 401 without a valid token, and 403 without the permission', async () => {
    const api = new ScriptedReviews({ good: PROMETHEUS, weak: { username: 'weak' } }, ({ user }) => user !== 'weak')
    await start(api)
    const codes = await Promise.all([ask(undefined), ask('wrong'), ask('weak'), ask('good')])
    expect(codes.map(({ status }) => status)).toEqual([401, 401, 403, 200])
    expect(codes[0]?.headers.get('www-authenticate')).toBe('Bearer')
    expect(await codes[2]?.text()).toBe('Forbidden: User "weak" cannot get path "/metrics"\n')
  })

  test('the access review of a request names the user with all fields, the path and the verb', async () => {
    const api = new ScriptedReviews({ good: PROMETHEUS })
    await start(api)
    await ask('good', '/metrics?x=1', 'POST')
    const { username: user, groups, ...rest } = PROMETHEUS
    expect(api.asked).toEqual([
      { token: 'good' },
      {
        user,
        ...rest,
        groups: [...groups, 'system:authenticated'],
        nonResourceAttributes: { path: '/metrics', verb: 'post' },
      },
    ])
  })

  test('with --authorize-metrics each path needs a separate permission', async () => {
    const api = new ScriptedReviews({ good: PROMETHEUS }, ({ nonResourceAttributes: { path } }) => path === '/metrics')
    await start(api)
    const codes = await Promise.all([ask('good'), ask('good', '/debug/stuck'), ask('good', '/none')])
    expect(codes.map(({ status }) => status)).toEqual([200, 403, 403])
  })

  test.each(['Basic good', 'Bearer', 'Bearer good good', 'good'])(
    'the HTTP endpoint accepts no token from the Authorization header %j',
    async (authorization) => {
      const api = new ScriptedReviews({ good: PROMETHEUS })
      await start(api)
      const answer = await fetch(`http://127.0.0.1:${server?.port}/metrics`, { headers: { authorization } })
      expect([answer.status, api.asked]).toEqual([401, []])
    },
  )

  test('the HTTP endpoint caches the result of an access review for ten seconds', async () => {
    const time = new FakeClock()
    const api = new ScriptedReviews({ good: PROMETHEUS })
    await start(api, time)
    for (let scrapes = 0; scrapes < 5; scrapes += 1) expect((await ask('good')).status).toBe(200)
    expect(api.asked).toHaveLength(2)
    api.users = {}
    await time.advance(10_000)
    expect((await ask('good')).status).toBe(401)
  })

  test('the HTTP endpoint remembers an invalid token for ten seconds', async () => {
    const time = new FakeClock()
    const api = new ScriptedReviews({})
    await start(api, time)
    expect((await ask('late')).status).toBe(401)
    api.users = { late: PROMETHEUS }
    await time.advance(10_000)
    expect((await ask('late')).status).toBe(200)
  })

  test('the HTTP endpoint sends tokens of clients only to the API server', async () => {
    const api = new ScriptedReviews({ 'canary-token': PROMETHEUS }, () => false)
    await start(api)
    const text = await (await ask('canary-token')).text()
    api.away = new ApiError({ code: 0, reason: '', message: 'connection refused' })
    await ask('canary-token-2')
    expect(`${text}${JSON.stringify(log.lines)}`).not.toContain('canary')
  })
})

describe('the HTTP endpoint without a reachable API server', () => {
  const away = new ApiError({ code: 0, reason: '', message: 'connection refused' })

  test('if the API server is unreachable, only the health paths answer, and one log line gives the reason', async () => {
    const api = new ScriptedReviews({ good: PROMETHEUS })
    api.away = away
    await start(api)
    for (let scrapes = 0; scrapes < 3; scrapes += 1) expect((await ask('good')).status).toBe(503)
    expect((await ask(undefined, '/livez')).status).toBe(200)
    expect(log.lines).toMatchObject([
      { level: 'error', message: 'Requests to the HTTP endpoint cannot be reviewed', error: away },
    ])
    api.away = undefined
    expect((await ask('good')).status).toBe(200)
  })

  test('a request to the HTTP endpoint waits for the API server for at most five seconds', async () => {
    const time = new FakeClock()
    const api = new ScriptedReviews({ good: PROMETHEUS })
    api.silent = true
    await start(api, time)
    const answer = ask('good')
    while (time.pending === 0) await ask(undefined, '/livez')
    await time.advance(5_000)
    expect((await answer).status).toBe(503)
  })
})

test('a client with a certificate needs no token for the HTTP endpoint', async () => {
  const ca = makeAuthority('ca')
  const api = new ScriptedReviews({}, ({ user }) => user === 'scraper')
  const reviews = new Reviews(clock, () => api.client)
  await using endpoint = await SecureServer.start({ pair: ca.server('endpoint'), clientCa: ca.cert, reviews })
  expect(await endpoint.status('/metrics', { ...ca.client('/O=ops/O=eng/CN=scraper') })).toBe(200)
  expect(await endpoint.status('/metrics', { ...ca.client('/CN=other') })).toBe(403)
  expect(await endpoint.status('/metrics')).toBe(401)
  const groups = ['ops', 'eng', 'system:authenticated']
  expect(api.asked[0]).toMatchObject({ user: 'scraper', groups })
})
