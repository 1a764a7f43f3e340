import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { systemClock } from '@csi-sidecars/base'
import { selfSignedCertificate } from '@csi-sidecars/base/self-signed'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { OtlpReceiver } from '../testing/otlp-receiver.ts'
import type { SpanBatch } from './otlp-json.ts'
import { type Delivery, OtlpClient } from './otlp-request.ts'
import type { ExportSettings } from './settings.ts'

const BATCH: SpanBatch = {
  resource: { 'service.name': 'csi-test', 'a number': 7 },
  scope: { name: 'csi-sidecars', version: 'v1' },
  spans: [
    {
      traceId: '0123456789abcdef0123456789abcdef',
      spanId: '0123456789abcdef',
      parentSpanId: 'fedcba9876543210',
      name: 'PATCH volumeattachments',
      kind: 'client',
      startMs: 1_700_000_000_000.123,
      endMs: 1_700_000_000_001,
      attributes: { text: 'wörter', whole: 409, half: 0.5, yes: true, big: 2 ** 53 },
      error: 'no "such" volume',
    },
    {
      traceId: '0123456789abcdef0123456789abcdef',
      spanId: 'fedcba9876543210',
      parentSpanId: undefined,
      name: 'attach',
      kind: 'internal',
      startMs: 1_700_000_000_000,
      endMs: 1_700_000_000_002,
      attributes: {},
      error: undefined,
    },
  ],
}

let receiver: OtlpReceiver
let client: OtlpClient | undefined

beforeEach(async () => {
  receiver = await new OtlpReceiver().open()
})

afterEach(async () => {
  client?.close()
  await receiver.close()
})

async function send(
  settings: Partial<ExportSettings> = {},
  signal = new AbortController().signal,
  batch = BATCH,
): Promise<Delivery> {
  client ??= new OtlpClient({
    url: new URL(`${receiver.url}/v1/traces`),
    encoding: 'protobuf',
    gzip: false,
    headers: { 'x-token': 'abc' },
    timeoutMs: 1000,
    tls: {},
    ...settings,
  })
  return await client.send(batch, signal)
}

describe.each(['protobuf', 'json'] as const)('OTLP requests in %s', (encoding) => {
  test.each([false, true])('the collector receives all fields of a span, compressed or not (%p)', async (gzip) => {
    client = undefined
    expect(await send({ encoding, gzip })).toEqual({ kind: 'delivered', rejected: 0, why: '' })
    expect(receiver.refusals).toEqual([])
    const common = {
      traceId: '0123456789abcdef0123456789abcdef',
      flags: 1,
      resource: { 'service.name': 'csi-test', 'a number': 7 },
      scope: 'csi-sidecars v1',
    }
    expect(receiver.spans).toEqual([
      {
        ...common,
        spanId: '0123456789abcdef',
        parentSpanId: 'fedcba9876543210',
        name: 'PATCH volumeattachments',
        kind: 3,
        startNano: 1_700_000_000_000_123_000n,
        endNano: 1_700_000_000_001_000_000n,
        attributes: { text: 'wörter', whole: 409, half: 0.5, yes: true, big: 2 ** 53 },
        statusCode: 2,
        statusMessage: 'no "such" volume',
      },
      {
        ...common,
        spanId: 'fedcba9876543210',
        parentSpanId: '',
        name: 'attach',
        kind: 1,
        startNano: 1_700_000_000_000_000_000n,
        endNano: 1_700_000_000_002_000_000n,
        attributes: {},
        statusCode: 0,
        statusMessage: '',
      },
    ])
    expect(receiver.requests[0]).toMatchObject({ 'x-token': 'abc' })
  })

  test("a partial success returns the number of rejected spans and the collector's reason", async () => {
    client = undefined
    receiver.answer = () => ({ status: 200, body: partialSuccess(encoding) })
    expect(await send({ encoding })).toEqual({ kind: 'delivered', rejected: 300, why: 'too old' })
  })

  test.each([
    '\u0001 this is neither',
    'null',
    '{"partialSuccess":{"rejectedSpans":"many"}}',
    '{"partialSuccess":{"rejectedSpans":-1}}',
    '{"partialSuccess":7}',
    '\n\u0000',
  ])('an unreadable answer of the collector, such as %j, counts as a delivery without rejected spans', async (body) => {
    client = undefined
    receiver.answer = () => ({ status: 200, body })
    expect(await send({ encoding })).toEqual({ kind: 'delivered', rejected: 0, why: '' })
  })
})

function partialSuccess(encoding: string): string | Uint8Array {
  if (encoding === 'json') return '{"partialSuccess":{"rejectedSpans":"300","errorMessage":"too old"}}'
  const inner = new BinaryWriter().tag(1, 0).int64(300).tag(2, 2).string('too old').finish()
  return new BinaryWriter().tag(1, 2).bytes(inner).finish()
}

test.each([
  [429, { 'retry-after': '7' }, { kind: 'later', why: 'HTTP 429', afterMs: 7000 }],
  [503, {}, { kind: 'later', why: 'HTTP 503', afterMs: undefined }],
  [502, { 'retry-after': 'Fri, 31 Dec 1999 23:59:59 GMT' }, { kind: 'later', why: 'HTTP 502', afterMs: undefined }],
  [400, {}, { kind: 'refused', why: 'HTTP 400' }],
  [404, {}, { kind: 'refused', why: 'HTTP 404' }],
  [301, { location: 'http://elsewhere' }, { kind: 'refused', why: 'HTTP 301' }],
  [500, {}, { kind: 'refused', why: 'HTTP 500' }],
])(
  'the status %d of the collector with the headers %j decides whether the client sends the spans again',
  async (status, headers, delivery) => {
    client = undefined
    receiver.answer = () => ({ status, headers })
    expect(await send()).toEqual(delivery)
  },
)

test('the client refuses spans that cannot be encoded, so they are not sent again', async () => {
  client = undefined
  const [span] = BATCH.spans
  if (span === undefined) throw new Error('no span')
  const bad = { ...BATCH, spans: [{ ...span, startMs: Number.NaN }] }
  expect(await send({}, undefined, bad)).toMatchObject({ kind: 'refused' })
})

test('the client sends all spans on one connection', async () => {
  client = undefined
  receiver.answer = () => ({ status: 200 })
  await send()
  await send()
  expect(receiver.connections).toBe(1)
})

test('the client sends spans over TLS to the path of its URL, and trusts only the given authority', async () => {
  const tls = selfSignedCertificate({
    commonName: 'collector',
    dnsNames: [],
    addresses: [[127, 0, 0, 1]],
    now: systemClock.now(),
    days: 1,
  })
  const secure = await new OtlpReceiver({ path: '/otlp/v1/traces', tls }).open()
  try {
    const url = new URL(`${secure.url}/otlp/v1/traces`)
    for (const [ca, kind] of [
      [undefined, 'later'],
      [tls.cert, 'delivered'],
    ] as const) {
      client?.close()
      client = undefined
      expect(await send({ url, tls: ca === undefined ? {} : { ca } })).toMatchObject({ kind })
    }
    expect([secure.refusals, secure.spans.length]).toEqual([[], 2])
  } finally {
    client?.close()
    await secure.close()
  }
})

test('the client requests a retry after a refused connection, a late answer or a long answer', async () => {
  client = undefined
  receiver.answer = () => 'hang'
  const limit = new AbortController()
  const hanging = send({}, limit.signal)
  limit.abort(new Error('no answer'))
  expect(await hanging).toEqual({ kind: 'later', why: 'no answer', afterMs: undefined })
  receiver.answer = () => ({ status: 200, body: 'x'.repeat(100_000) })
  expect(await send()).toEqual({ kind: 'later', why: 'the answer is too long', afterMs: undefined })
  client = undefined
  expect(await send({ url: new URL('http://127.0.0.1:1/') })).toMatchObject({ kind: 'later' })
})
