import { FakeClock } from '@csi-sidecars/base/testing'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { RecordingTracer } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { AnsweringServer, get, patch, refuse } from '../testing/answering-server.ts'

let clock: FakeClock
let server: AnsweringServer
let tracer: RecordingTracer
beforeEach(async () => {
  clock = new FakeClock()
  server = await AnsweringServer.start(clock)
  tracer = new RecordingTracer()
  server.tracer = tracer
})
afterEach(() => server.close())

const PV = '/api/v1/persistentvolumes/pv'

test('a request during a run of a controller has a span and a traceparent header', async () => {
  const client = server.connect()
  await get(client)
  await patch(client)
  await client.patch(
    PERSISTENT_VOLUME_CLAIMS,
    { namespace: 'ns', name: 'status' },
    { kind: 'merge', body: {} },
    { subresource: 'status' },
  )
  await client.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'ns', name: 'status' }, { gracePeriodSeconds: 1 })
  const claim = '/api/v1/namespaces/ns/persistentvolumeclaims/status'
  expect(tracer.spans.map(({ name, attributes, end }) => [name, attributes, end])).toEqual(
    [
      ['GET', 'persistentvolumes', PV],
      ['PATCH', 'persistentvolumes', PV],
      ['PATCH', 'persistentvolumeclaims/status', `${claim}/status`],
      ['DELETE', 'persistentvolumeclaims', claim],
    ].map(([method, operation, path]) => [
      `${method} ${operation}`,
      { 'http.request.method': method, 'url.path': path },
      { error: undefined },
    ]),
  )
  expect(server.seen.map(({ traceparent }) => traceparent)).toEqual(tracer.spans.map(({ traceparent }) => traceparent))
})

test("a request outside of a controller's run has neither a span nor a traceparent header", async () => {
  tracer.running = false
  await get(server.connect())
  expect([tracer.spans, server.seen[0]?.traceparent]).toEqual([[], undefined])
})

test('all attempts of a request are recorded as one span', async () => {
  server.answer = server.first(2, refuse(429, { 'Retry-After': '2' }))
  const patched = patch(server.connect())
  await server.until(() => server.seen.length === 1)
  await server.quiet()
  await clock.advance(2000)
  await server.until(() => server.seen.length === 2)
  await server.quiet()
  await clock.advance(2000)
  await patched
  expect(tracer.spans.map(({ attributes }) => attributes['http.request.resend_count'])).toEqual([2])
  expect(server.seen.map(({ traceparent }) => traceparent)).toEqual(Array(3).fill(tracer.spans[0]?.traceparent))
})

test('the span of a refused request contains the status code and the thrown error', async () => {
  server.answer = refuse(409, {}, 'another writer was faster')
  const thrown = await patch(server.connect()).catch((error: unknown) => error)
  expect(tracer.spans).toMatchObject([{ attributes: { 'http.response.status_code': 409 }, end: { error: thrown } }])
})

test('the span of a request without an answer has no status code', async () => {
  server.answer = (response) => void response.destroy()
  const thrown = await patch(server.connect()).catch((error: unknown) => error)
  expect(tracer.spans[0]?.attributes).toEqual({ 'http.request.method': 'PATCH', 'url.path': PV })
  expect(tracer.spans[0]?.end).toEqual({ error: thrown })
})
