import { FakeClock } from '@csi-sidecars/base/testing'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { SPANS_DROPPED_TOTAL, SPANS_EXPORTED_TOTAL } from '../metric-names.ts'
import { Metrics } from '../metrics.ts'
import { type RecordingLogger, recordingLogger } from '../testing/recording-logger.ts'
import type { SpanBatch } from './otlp-json.ts'
import type { Delivery } from './otlp-request.ts'
import type { Span } from './span.ts'
import { SpanBuffer } from './span-buffer.ts'

const BATCH = { delayMs: 5000, queueSize: 5, batchSize: 3, timeoutMs: 30_000 }
const DELIVERED: Delivery = { kind: 'delivered', rejected: 0, why: '' }
const AWAY: Delivery = { kind: 'later', why: 'connection refused', afterMs: undefined }

const named = (name: string): Span => ({
  traceId: '1'.repeat(32),
  spanId: '1'.repeat(16),
  parentSpanId: undefined,
  name,
  kind: 'internal',
  startMs: 0,
  endMs: 0,
  attributes: {},
  error: undefined,
})

let clock: FakeClock
let log: RecordingLogger
let metrics: Metrics
let sent: string[]
let answer: (signal: AbortSignal) => Delivery | Promise<Delivery>
let buffer: SpanBuffer
let closed: boolean

beforeEach(() => {
  clock = new FakeClock({ random: () => 0 })
  log = recordingLogger()
  metrics = new Metrics()
  sent = []
  closed = false
  answer = () => DELIVERED
  const client = {
    send: async ({ spans }: SpanBatch, signal: AbortSignal): Promise<Delivery> => {
      sent.push(`${spans.map(({ name }) => name).join('')}@${clock.monotonic()}`)
      return await answer(signal)
    },
    close: () => {
      closed = true
    },
  }
  buffer = new SpanBuffer({
    clock,
    log,
    batch: BATCH,
    requestMs: 10_000,
    sender: { resource: {}, scope: { name: 'test', version: '' } },
    client,
    endpoint: 'http://collector',
    exported: metrics.counter(SPANS_EXPORTED_TOTAL),
    dropped: metrics.counter(SPANS_DROPPED_TOTAL),
    outside: (work) => work(),
  })
})

afterEach(() => {
  expect(clock.pending).toBe(0)
})

const add = (names: string): void => {
  for (const name of names) buffer.add(named(name))
}
const close = (): Promise<void> => buffer.close(new AbortController().signal)
const counts = async (): Promise<string[]> =>
  [...(await metrics.text()).matchAll(/^csi_sidecar_spans_(.*)$/gm)].map(([, line]) => line ?? '')
const lines = (): string[] => log.lines.map(({ message }) => message)

test('the buffer keeps spans for five seconds and sends them together', async () => {
  add('a')
  await clock.advance(1000)
  add('b')
  await clock.advance(3999)
  expect(sent).toEqual([])
  await clock.advance(1)
  expect(sent).toEqual(['ab@5000'])
  expect(await counts()).toEqual(['exported_total 2'])
})

test('the buffer sends a full batch of spans at once, and the remaining spans after the delay', async () => {
  add('abcd')
  await clock.settle()
  expect(sent).toEqual(['abc@0'])
  await clock.advance(5000)
  expect(sent).toEqual(['abc@0', 'd@5000'])
})

test('the buffer sends the next full batch as soon as the running request ends', async () => {
  const first = Promise.withResolvers<Delivery>()
  answer = () => first.promise
  add('abcdefgh')
  await clock.settle()
  expect(sent).toEqual(['abc@0'])
  answer = () => DELIVERED
  first.resolve(DELIVERED)
  await clock.settle()
  expect(sent).toEqual(['abc@0', 'def@0'])
  await close()
  expect(sent).toEqual(['abc@0', 'def@0', 'gh@0'])
})

test('while the collector is unreachable, the buffer retries one batch and drops spans that do not fit', async () => {
  answer = () => AWAY
  add('abc')
  await clock.settle()
  add('defghijk')
  await clock.advance(29_999)
  expect(sent).toEqual([0, 1000, 3000, 7000, 12_000, 17_000, 22_000, 27_000].map((at) => `abc@${at}`))
  expect(await counts()).toEqual(['dropped_total{reason="queue_full"} 3', 'exported_total 0'])
  answer = () => DELIVERED
  await clock.advance(1)
  expect(sent.at(-1)).toBe('def@30000')
  await clock.advance(5000)
  expect(sent.at(-1)).toBe('gh@35000')
  expect(await counts()).toEqual([
    'dropped_total{reason="queue_full"} 3',
    'dropped_total{reason="unreachable"} 3',
    'exported_total 5',
  ])
  expect(lines()).toEqual(['Spans could not be exported', 'Spans are exported again'])
})

test('a single failure of the collector is not logged', async () => {
  answer = () => AWAY
  add('abc')
  await clock.settle()
  answer = () => DELIVERED
  await clock.advance(1000)
  expect([sent, lines()]).toEqual([['abc@0', 'abc@1000'], []])
})

test('a failing collector is logged once a minute', async () => {
  answer = () => AWAY
  for (let minute = 0; minute < 3; minute += 1) {
    add('abc')
    await clock.advance(60_000)
  }
  expect(log.lines).toEqual(
    Array.from({ length: 3 }, () => ({
      level: 'warning',
      message: 'Spans could not be exported',
      pairs: { endpoint: 'http://collector', err: 'connection refused' },
    })),
  )
})

test('the buffer waits as long as the Retry-After of the collector says', async () => {
  answer = () => ({ kind: 'later', why: 'HTTP 429', afterMs: 8000 })
  add('abc')
  await clock.settle()
  answer = () => DELIVERED
  await clock.advance(7999)
  expect(sent).toEqual(['abc@0'])
  await clock.advance(1)
  expect(sent).toEqual(['abc@0', 'abc@8000'])
})

test('the buffer does not send spans again that the collector has refused', async () => {
  answer = () => ({ kind: 'refused', why: 'HTTP 401' })
  add('abc')
  await clock.advance(60_000)
  expect(sent).toEqual(['abc@0'])
  expect(await counts()).toEqual(['dropped_total{reason="rejected"} 3', 'exported_total 0'])
})

test('spans that the collector rejects are counted and logged', async () => {
  answer = () => ({ kind: 'delivered', rejected: 2, why: 'too old' })
  add('abc')
  await clock.settle()
  expect(await counts()).toEqual(['dropped_total{reason="rejected"} 2', 'exported_total 1'])
  expect(log.lines[0]?.pairs).toEqual({ endpoint: 'http://collector', err: 'too old' })
})

test('a request with spans times out if the collector does not answer', async () => {
  answer = (signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve({ kind: 'later', why: String(signal.reason), afterMs: undefined }))
    })
  add('abc')
  await clock.advance(11_000)
  expect(sent).toEqual(['abc@0', 'abc@11000'])
  await close()
})

describe('closing', () => {
  test('`close` sends the waiting spans, and the buffer then accepts no further spans', async () => {
    add('ab')
    await close()
    expect([sent, closed]).toEqual([['ab@0'], true])
    add('c')
    await clock.advance(60_000)
    expect(sent).toEqual(['ab@0'])
    expect(await counts()).toEqual(['dropped_total{reason="queue_full"} 1', 'exported_total 2'])
  })

  test('`close` drops all spans without another attempt if the last attempt failed', async () => {
    answer = () => AWAY
    add('abc')
    await clock.settle()
    add('de')
    await close()
    expect(sent).toEqual(['abc@0'])
    expect(await counts()).toEqual([
      'dropped_total{reason="unreachable"} 3',
      'dropped_total{reason="shutdown"} 2',
      'exported_total 0',
    ])
  })

  test('`close` tries to send the waiting spans once, even if the collector is unreachable', async () => {
    answer = () => AWAY
    add('ab')
    await close()
    expect(sent).toEqual(['ab@0'])
  })

  test('`close` ends when its signal is aborted, even if spans are waiting', async () => {
    answer = (signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ ...AWAY, why: 'given up' })))
    add('ab')
    const limit = new AbortController()
    const ended = buffer.close(limit.signal)
    await clock.settle()
    limit.abort(new Error('the time is over'))
    await ended
    expect([sent, closed]).toEqual([['ab@0'], true])
  })
})
