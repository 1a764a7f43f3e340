import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { systemClock } from '@csi-sidecars/base'
import { selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { OtlpReceiver, type OtlpReceiverOptions } from '../testing/otlp-receiver.ts'
import { type Delivery, type OtlpExporter, openExporter } from './otlp-exporter.ts'
import { readableSpan } from './readable-span.ts'
import type { ExportSettings } from './settings.ts'
import type { Span } from './span.ts'

const TRACE_ID = '0123456789abcdef0123456789abcdef'
const SENDER = {
  resource: resourceFromAttributes({ 'service.name': 'csi-test', 'a number': 7 }),
  scope: { name: 'csi-sidecars', version: 'v1' },
}
const CLIENT_SPAN: Span = {
  traceId: TRACE_ID,
  spanId: '0123456789abcdef',
  parentSpanId: 'fedcba9876543210',
  name: 'PATCH volumeattachments',
  kind: 'client',
  startMs: 1_700_000_000_000.123,
  endMs: 1_700_000_000_001,
  attributes: { text: 'wörter', whole: 409, half: 0.5, yes: true },
  error: 'no "such" volume',
}
const ROOT_SPAN: Span = {
  ...CLIENT_SPAN,
  spanId: 'fedcba9876543210',
  parentSpanId: undefined,
  name: 'attach',
  kind: 'internal',
  attributes: {},
  error: undefined,
}

const REJECTED = new BinaryWriter()
  .tag(1, 2)
  .bytes(new BinaryWriter().tag(1, 0).int64(1).tag(2, 2).string('too old').finish())
  .finish()

let receiver: OtlpReceiver
let exporter: OtlpExporter | undefined

beforeEach(async () => {
  await listen()
})
afterEach(async () => {
  exporter?.close()
  await receiver.close()
})

async function listen(options: OtlpReceiverOptions = {}): Promise<void> {
  receiver = await new OtlpReceiver(options).open()
}

function send(settings: Partial<ExportSettings> = {}, ...spans: readonly Span[]): Promise<Delivery> {
  exporter?.close()
  exporter = openExporter({
    url: new URL(`${receiver.url}/v1/traces`),
    encoding: 'protobuf',
    gzip: false,
    headers: { 'x-token': 'abc' },
    timeoutMs: 500,
    tls: {},
    ...settings,
  })
  return exporter.send((spans.length === 0 ? [CLIENT_SPAN] : spans).map((span) => readableSpan(span, SENDER)))
}

test.each([false, true])('the collector receives all fields of a span, compressed or not (%p)', async (gzip) => {
  expect(await send({ gzip }, CLIENT_SPAN, ROOT_SPAN)).toEqual({ kind: 'delivered', rejected: 0, why: '' })
  expect(receiver.refusals).toEqual([])
  const { resource, scope } = { resource: { 'service.name': 'csi-test', 'a number': 7 }, scope: 'csi-sidecars v1' }
  const times = { startNano: 1_700_000_000_000_123_000n, endNano: 1_700_000_000_001_000_000n }
  expect(receiver.spans).toMatchObject([
    {
      ...{ traceId: TRACE_ID, spanId: '0123456789abcdef', parentSpanId: 'fedcba9876543210', resource, scope },
      ...{ name: 'PATCH volumeattachments', kind: 3, ...times, attributes: CLIENT_SPAN.attributes },
      ...{ statusCode: 2, statusMessage: 'no "such" volume' },
    },
    { spanId: 'fedcba9876543210', parentSpanId: '', name: 'attach', kind: 1, attributes: {}, statusCode: 0 },
  ])
  expect(receiver.requests[0]).toMatchObject({ 'x-token': 'abc' })
})

test('the exporter sends JSON if its settings say so', async () => {
  receiver.answer = () => ({ status: 200, body: '{}' })
  expect(await send({ encoding: 'json' })).toEqual({ kind: 'delivered', rejected: 0, why: '' })
  expect(receiver.requests[0]).toMatchObject({ 'content-type': 'application/json' })
  const spans = [{ traceId: TRACE_ID, name: CLIENT_SPAN.name, startTimeUnixNano: '1700000000000123000' }]
  const request = { resourceSpans: [{ scopeSpans: [{ scope: SENDER.scope, spans }] }] }
  expect(JSON.parse(String(receiver.bodies[0]))).toMatchObject(request)
})

describe.each([
  ['protobuf', REJECTED],
  ['json', '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}'],
] as const)('answers in %s', (encoding, rejection) => {
  test("a partial success returns the number of rejected spans and the collector's reason", async () => {
    receiver.answer = () => ({ status: 200, body: rejection })
    expect(await send({ encoding }, CLIENT_SPAN, ROOT_SPAN)).toEqual({ kind: 'delivered', rejected: 1, why: 'too old' })
  })

  test('an unreadable answer of the collector counts as a delivery without rejected spans', async () => {
    receiver.answer = () => ({ status: 200, body: '\u0001 this is neither' })
    expect(await send({ encoding })).toEqual({ kind: 'delivered', rejected: 0, why: '' })
  })
})

test.each([
  ['a refusal of the collector', () => ({ status: 401 }), { kind: 'refused', why: 'HTTP 401' }],
  ['a collector that is overloaded for longer than the time-out', () => ({ status: 429 }), { kind: 'unreachable' }],
  ['no answer within the time-out', () => 'hang' as const, { kind: 'unreachable', why: 'Request timed out' }],
])('the exporter reports %s', async (_, answer, delivery) => {
  receiver.answer = answer
  expect(await send()).toMatchObject(delivery)
})

test('the exporter sends spans over TLS to the path of its URL, and trusts only the given authority', async () => {
  const [commonName, dnsNames, addresses] = ['collector', [], [[127, 0, 0, 1]]] as const
  const tls = selfSignedCertificate({ commonName, dnsNames, addresses, now: systemClock.now(), days: 1 })
  await receiver.close()
  await listen({ path: '/otlp/v1/traces', tls })
  const url = new URL(`${receiver.url}/otlp/v1/traces`)
  expect(await send({ url })).toMatchObject({ kind: 'unreachable' })
  expect(await send({ url, tls: { ca: tls.cert } })).toMatchObject({ kind: 'delivered' })
  expect([receiver.refusals, receiver.spans.length]).toEqual([[], 1])
})
