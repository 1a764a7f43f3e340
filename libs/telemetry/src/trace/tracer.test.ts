import { FakeClock } from '@csi-sidecars/base/testing'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { RunContexts } from './run-context.ts'
import { samplerOf } from './settings.ts'
import type { Span } from './span.ts'
import { type RunStart, RunTracer } from './tracer.ts'

const NOW = 1_700_000_000_000
const PARENT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const RUN: RunStart = { name: 'attach', attributes: { va: 'va-1' }, traceparent: undefined, waitedMs: 250 }

let seed: number
let clock: FakeClock
let runs: RunContexts
let spans: Span[]

beforeEach(() => {
  seed = 0
  clock = new FakeClock({ now: NOW, random: () => (seed += 2 ** -32) })
  runs = new RunContexts()
  spans = []
})

function tracer(sampler = 'parentbased_always_on'): RunTracer {
  return new RunTracer({ runs, clock, sampler: samplerOf(sampler, ''), record: (span) => spans.push(span) })
}

test('the span of a run begins with its wait in the queue and contains a span for each request', async () => {
  const tracing = tracer()
  const context = tracing.start(RUN)
  await runs.run(context, async () => {
    await clock.advance(10)
    const span = tracing.begin('PATCH va', { path: '/va' })
    await clock.advance(5)
    span?.set({ code: 200 })
    span?.end()
  })
  context.trace.end({ outcome: 'settled' })
  const { traceId } = context
  const root = spans.at(-1)
  const common = { traceId, error: undefined }
  const part = { ...common, parentSpanId: root?.spanId, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) }
  expect(spans).toEqual([
    {
      ...part,
      name: 'PATCH va',
      kind: 'client',
      startMs: NOW + 10,
      endMs: NOW + 15,
      attributes: { path: '/va', code: 200 },
    },
    { ...part, name: 'wait in queue', kind: 'internal', startMs: NOW - 250, endMs: NOW, attributes: {} },
    {
      ...part,
      parentSpanId: undefined,
      name: 'attach',
      kind: 'internal',
      startMs: NOW - 250,
      endMs: NOW + 15,
      attributes: { va: 'va-1', outcome: 'settled' },
    },
  ])
  expect(traceId).toMatch(/^[0-9a-f]{32}$/)
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(3)
})

test('the traceparent header for the server names the span of the request', async () => {
  const tracing = tracer()
  const context = tracing.start(RUN)
  const header = await runs.run(context, async () => {
    const span = tracing.begin('call', {})
    span?.end()
    return span?.traceparent
  })
  expect(header).toBe(`00-${context.traceId}-${spans[0]?.spanId}-01`)
})

test('the span of a failed request has its error message, cut to a limit', async () => {
  const tracing = tracer()
  await runs.run(tracing.start(RUN), async () => {
    tracing.begin('call', {})?.end(new Error('no such array'))
    tracing.begin('call', {})?.end(`${'x'.repeat(4095)}\u{1F600}`)
  })
  expect(spans.map(({ error }) => error)).toEqual(['no such array', `${'x'.repeat(4095)}\uFFFD`])
})

describe('empty runs', () => {
  test('a successful run without requests records no span', () => {
    tracer().start(RUN).trace.end({})
    expect(spans).toEqual([])
  })

  test('a failed run without requests records a span for its wait and a span for the run', () => {
    tracer().start(RUN).trace.end({}, new Error('no volume'))
    expect(spans.map(({ name, error }) => [name, error])).toEqual([
      ['wait in queue', undefined],
      ['attach', 'no volume'],
    ])
  })
})

describe('traceparent', () => {
  const of = (flags: string) => `00-${PARENT.traceId}-${PARENT.spanId}-${flags}`

  test('a run belongs to the trace that the traceparent of its object names', () => {
    const context = tracer().start({ ...RUN, traceparent: of('01') })
    context.trace.end({}, new Error('any'))
    expect(context.traceId).toBe(PARENT.traceId)
    expect(spans.at(-1)).toMatchObject({ traceId: PARENT.traceId, parentSpanId: PARENT.spanId })
  })

  test('a run continues the unsampled trace of its object, and its requests send that traceparent', async () => {
    const tracing = tracer()
    const context = tracing.start({ ...RUN, traceparent: of('00') })
    const header = await runs.run(context, async () => {
      const span = tracing.begin('call', {})
      span?.end(new Error('any'))
      return span?.traceparent
    })
    context.trace.end({}, new Error('any'))
    expect(header).toMatch(new RegExp(`^00-${PARENT.traceId}-[0-9a-f]{16}-00$`))
    expect(spans).toEqual([])
  })

  test('a run starts a new trace if the traceparent of its object is invalid', () => {
    expect(tracer().start({ ...RUN, traceparent: 'mine' }).traceId).not.toBe(PARENT.traceId)
  })
})

describe('work outside of runs', () => {
  test('a request outside of any run is not recorded', () => {
    expect(tracer().begin('GET lease', {})).toBeUndefined()
  })

  test('a request after the end of a run is not recorded as a part of the run', async () => {
    const tracing = tracer()
    const runEnd = Promise.withResolvers<void>()
    const begun = await runs.run(tracing.start(RUN), async () => ({
      seen: runEnd.promise.then(() => [runs.current, tracing.begin('call', {})]),
    }))
    runEnd.resolve()
    expect(await begun.seen).toEqual([undefined, undefined])
  })

  test('work that `withoutRun` starts does not belong to the current run', async () => {
    const seen = await runs.run(tracer().start(RUN), async () => runs.withoutRun(() => runs.current))
    expect(seen).toBeUndefined()
  })
})

test('concurrent runs have separate contexts', async () => {
  const tracing = tracer()
  const ids = await Promise.all(
    [1, 2, 3].map((each) => {
      const context = tracing.start(RUN)
      return runs.run(context, async () => {
        await clock.advance(each)
        return runs.current?.traceId === context.traceId
      })
    }),
  )
  expect(ids).toEqual([true, true, true])
})

test('the IDs of traces and spans are never zero', () => {
  const zero = new FakeClock({ random: () => 0 })
  const context = new RunTracer({ runs, clock: zero, sampler: () => true, record: (span) => spans.push(span) }).start(
    RUN,
  )
  context.trace.end({}, new Error('any'))
  expect(context.traceId).toMatch(/[^0]/)
  expect(spans[0]?.spanId).toMatch(/[^0]/)
})
