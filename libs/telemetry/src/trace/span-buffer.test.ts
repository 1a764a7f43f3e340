import { FakeClock } from '@csi-sidecars/base/testing'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { emptyResource } from '@opentelemetry/resources'
import { SPANS_DROPPED_TOTAL, SPANS_EXPORTED_TOTAL } from '../metric-names.ts'
import { Metrics } from '../metrics.ts'
import { type RecordingLogger, recordingLogger } from '../testing/recording-logger.ts'
import type { Delivery } from './otlp-exporter.ts'
import { SpanBuffer } from './span-buffer.ts'

const BATCH = { delayMs: 5000, queueSize: 5, batchSize: 3, timeoutMs: 30_000 }
const DELIVERED: Delivery = { kind: 'delivered', rejected: 0, why: '' }
const UNREACHABLE: Delivery = { kind: 'unreachable', why: 'connection refused' }

let clock: FakeClock
let log: RecordingLogger
let metrics: Metrics
let sent: string[]
let answer: () => Delivery | Promise<Delivery>
let buffer: SpanBuffer
let isClosed: boolean

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
  clock = new FakeClock()
  log = recordingLogger()
  metrics = new Metrics()
  sent = []
  isClosed = false
  answer = () => DELIVERED
  buffer = new SpanBuffer({
    clock,
    log,
    batch: BATCH,
    sender: { resource: emptyResource(), scope: { name: 'test', version: '' } },
    exporter: {
      send: async (spans) => {
        sent.push(spans.map(({ name }) => name).join(''))
        return await answer()
      },
      close: () => {
        isClosed = true
      },
    },
    endpoint: 'http://collector',
    exported: metrics.counter(SPANS_EXPORTED_TOTAL),
    dropped: metrics.counter(SPANS_DROPPED_TOTAL),
    withoutRun: (work) => work(),
  })
})

afterEach(() => {
  jest.useRealTimers()
})

const add = (names: string): void => {
  for (const name of names) {
    buffer.add({
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
  }
}
const advance = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms)
const close = (): Promise<void> => buffer.close(new AbortController().signal)
const counts = async (): Promise<string[]> =>
  [...(await metrics.text()).matchAll(/^csi_sidecar_spans_(.*)$/gm)].map(([, line]) => line ?? '')

test('the buffer sends a full batch of spans at once, and the remaining spans after the delay', async () => {
  add('abcd')
  await advance(4999)
  expect(sent).toEqual(['abc'])
  await advance(1)
  expect(sent).toEqual(['abc', 'd'])
  expect(await counts()).toEqual(['exported_total 4'])
})

test('while a batch is on its way, the buffer drops and counts spans that do not fit', async () => {
  const first = Promise.withResolvers<Delivery>()
  answer = () => first.promise
  add('abcdefghijk')
  await advance(0)
  answer = () => DELIVERED
  first.resolve(UNREACHABLE)
  await advance(5000)
  expect(sent).toEqual(['abc', 'def', 'gh'])
  expect(await counts()).toEqual([
    'dropped_total{reason="queue_full"} 3',
    'dropped_total{reason="unreachable"} 3',
    'exported_total 5',
  ])
  expect(log.lines.map(({ message }) => message)).toEqual(['Spans could not be exported', 'Spans are exported again'])
})

test('a failing collector is logged once a minute', async () => {
  answer = () => UNREACHABLE
  for (let count = 0; count < 3; count += 1) {
    add('abc')
    await advance(0)
    await clock.advance(30_000)
  }
  const pairs = { endpoint: 'http://collector', err: 'connection refused' }
  const line = { level: 'warning', message: 'Spans could not be exported', pairs }
  expect(log.lines).toEqual([line, line])
})

test.each<[Delivery, exported: number]>([
  [{ kind: 'refused', why: 'HTTP 401' }, 0],
  [{ kind: 'delivered', rejected: 2, why: 'too old' }, 1],
])('the buffer counts and logs the spans that the collector rejects: %j', async (delivery, exported) => {
  answer = () => delivery
  add('abc')
  await advance(0)
  expect(await counts()).toEqual([`dropped_total{reason="rejected"} ${3 - exported}`, `exported_total ${exported}`])
  expect(log.lines[0]?.pairs).toEqual({ endpoint: 'http://collector', err: delivery.why })
})

test('the buffer counts spans that cannot be encoded as rejected', async () => {
  answer = () => Promise.reject(new Error('no number'))
  add('abc')
  await advance(0)
  expect(await counts()).toEqual(['dropped_total{reason="rejected"} 3', 'exported_total 0'])
})

test('`close` sends the waiting spans, and the buffer then accepts no further spans', async () => {
  add('ab')
  await close()
  expect([sent, isClosed]).toEqual([['ab'], true])
  add('c')
  expect(await counts()).toEqual(['dropped_total{reason="queue_full"} 1', 'exported_total 2'])
})

test('`close` drops all spans without another attempt if the last attempt failed', async () => {
  answer = () => UNREACHABLE
  add('abc')
  await advance(0)
  add('de')
  await close()
  expect(sent).toEqual(['abc'])
  expect(await counts()).toEqual([
    'dropped_total{reason="unreachable"} 3',
    'dropped_total{reason="shutdown"} 2',
    'exported_total 0',
  ])
})

test('`close` ends when its signal is aborted, even if spans are on their way', async () => {
  answer = () => Promise.withResolvers<Delivery>().promise
  add('ab')
  const limit = new AbortController()
  const ended = buffer.close(limit.signal)
  limit.abort(new Error('the time is over'))
  await ended
  expect([sent, isClosed]).toEqual([['ab'], true])
})

test('`close` with an aborted signal sends no spans and counts them', async () => {
  add('ab')
  await buffer.close(AbortSignal.abort(new Error('the time is over')))
  await advance(0)
  expect(sent).toEqual([])
  expect(await counts()).toEqual(['dropped_total{reason="shutdown"} 2', 'exported_total 0'])
})
