import { FakeClock } from '@csi-sidecars/base/testing'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { fixedCredentials } from '../config/cluster-config.ts'
import { createKubeClient } from '../create-client.ts'
import { AnsweringServer, get, OBJECT, patch, refuse, UNLIMITED } from '../testing/answering-server.ts'

let clock: FakeClock
let server: AnsweringServer
beforeEach(async () => {
  clock = new FakeClock()
  server = await AnsweringServer.start(clock)
})
afterEach(() => server.close())

describe('the rate', () => {
  test('the rate limit delays requests but not watches, and requests for the Lease have a separate limit', async () => {
    const client = server.connect({ kind: 'bucket', qps: 5, burst: 2, perGroup: false })
    const results = Array.from({ length: 4 }, () => patch(client))
    results.push(...Array.from({ length: 2 }, () => patch(client, { lane: 'lease' })))
    const watching = client.watch(PERSISTENT_VOLUMES, {})[Symbol.asyncIterator]().next()
    await server.until(() => server.seen.length === 5)
    for (let i = 0; i < 2; i += 1) {
      await clock.advance(200)
      await server.quiet()
    }
    await Promise.all(results)
    await watching
    expect(server.seen.map(({ at }) => at)).toEqual([0, 0, 0, 0, 0, 200, 400])
  })

  test('each API group has a separate rate limit if the rate flag is zero', async () => {
    const client = server.connect({ kind: 'bucket', qps: 5, burst: 1, perGroup: true })
    const { LEASES } = await import('@csi-sidecars/kube-types')
    const other = client.get(LEASES, { name: 'l', namespace: 'ns' })
    const results = [get(client), get(client)]
    await server.until(() => server.seen.length === 2)
    await clock.advance(200)
    await Promise.all([other, ...results])
    expect(server.seen.map(({ at }) => at)).toEqual([0, 0, 200])
  })
})

test('errors and metrics contain the configured address of the API server, even its default port', async () => {
  const config = {
    origin: 'https://10.0.0.1:443',
    basePath: '/base',
    tls: undefined,
    credentials: fixedCredentials(undefined),
    headers: [],
    proxy: () => Promise.reject(new Error('no way')),
  }
  const client = createKubeClient({
    config,
    flow: UNLIMITED,
    clock,
    log: silentLogger,
    metrics: server.metrics,
    userAgent: 'test',
  })
  await expect(get(client)).rejects.toThrow('Get "https://10.0.0.1:443/base/api/v1/persistentvolumes/pv": no way')
  expect(await server.metrics.text()).toContain(
    'rest_client_requests_total{code="<error>",host="10.0.0.1:443",method="GET"} 1',
  )
})

test('the metrics count every attempt of a request', async () => {
  server.answer = server.first(1, refuse(429, { 'Retry-After': '0' }))
  const result = patch(server.connect())
  await server.until(() => server.seen.length === 1)
  await server.quiet()
  await clock.advance(0)
  await result
  const text = await server.metrics.text()
  const host = `host="127.0.0.1:${server.port}"`
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
