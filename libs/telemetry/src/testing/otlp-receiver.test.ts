import { BinaryWriter } from '@bufbuild/protobuf/wire'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { readableSpan } from '../trace/readable-span.ts'
import type { Span } from '../trace/span.ts'
import { OtlpReceiver } from './otlp-receiver.ts'

const SPAN = {
  traceId: '0123456789abcdef0123456789abcdef',
  spanId: '0123456789abcdef',
  parentSpanId: undefined,
  name: 'attach',
  kind: 'internal',
  startMs: 1_700_000_000_000,
  endMs: 1_700_000_000_001,
  attributes: { a: 'b' },
  error: undefined,
} as const

const batch = (change: Partial<Span> = {}, resource: Readonly<Record<string, string>> = { 'service.name': 'test' }) => {
  const sender = { resource: resourceFromAttributes(resource), scope: { name: 'test', version: '' } }
  return [readableSpan({ ...SPAN, ...change }, sender)]
}
const encode = (...change: Parameters<typeof batch>): Buffer =>
  Buffer.from(ProtobufTraceSerializer.serializeRequest(batch(...change)) ?? '')

let receiver: OtlpReceiver

beforeEach(async () => {
  receiver = await new OtlpReceiver().open()
})

afterEach(() => receiver.close())

async function post(body: Uint8Array, contentType = 'application/x-protobuf', path = '/v1/traces'): Promise<string[]> {
  const headers = { 'content-type': contentType }
  const { status } = await fetch(receiver.url + path, { method: 'POST', headers, body: Buffer.from(body) })
  expect(status).toBe(receiver.refusals.length === 0 ? 200 : 400)
  return receiver.refusals
}

test('the OTLP receiver accepts valid requests', async () => {
  expect(await post(encode())).toEqual([])
  expect(receiver.spans).toHaveLength(1)
})

test.each([
  ['a short trace id', { traceId: '0123' }, 'a trace id'],
  ['a trace id of zeros', { traceId: '0'.repeat(32) }, 'a trace id'],
  ['a short span id', { spanId: '0123' }, 'a span id'],
  ['a long parent', { parentSpanId: SPAN.traceId }, 'a parent'],
  ['a parent that is itself', { parentSpanId: SPAN.spanId }, 'its own parent'],
  ['no name', { name: '' }, 'without a name'],
  ['a time in seconds', { startMs: 1_700_000_000 }, 'not in nanoseconds'],
  ['an end before the start', { endMs: 1_600_000_000_000 }, 'before the start'],
  ['an attribute without a key', { attributes: { '': 'x' } }, 'without a key'],
])('the OTLP receiver refuses %s', async (_what, change, why) => {
  expect(await post(encode(change))).toEqual([expect.stringContaining(why)])
})

test('the OTLP receiver refuses a resource without a service name', async () => {
  expect(await post(encode({}, {}))).toEqual([expect.stringContaining('service.name')])
})

test('the OTLP receiver refuses a span that it has already received', async () => {
  await post(encode())
  expect(await post(encode())).toEqual([expect.stringContaining('twice')])
})

test.each([
  ['an unknown field', new BinaryWriter().tag(9, 0).int32(1).finish()],
  ['a field of another wire type', new BinaryWriter().tag(1, 0).int32(1).finish()],
  ['a body that is not protobuf', Buffer.from('{"resourceSpans":[]}')],
])('the OTLP receiver refuses a request with %s', async (_, body) => {
  expect(await post(body)).toHaveLength(1)
})

test('the OTLP receiver refuses other content types, paths, methods, and requests without spans', async () => {
  await post(encode(), 'application/json')
  await post(encode(), undefined, '/v1/logs')
  await post(Buffer.alloc(0))
  expect((await fetch(`${receiver.url}/v1/traces`)).status).toBe(400)
  expect(receiver.refusals).toHaveLength(4)
})
