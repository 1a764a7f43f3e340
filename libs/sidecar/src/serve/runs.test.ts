import { FakeClock } from '@csi-sidecars/base/testing'
import { type AnyController, type Outcome, runTerm, SETTLED } from '@csi-sidecars/controller'
import { Metrics, RunContexts, silentLogger } from '@csi-sidecars/telemetry'
import { OtlpReceiver } from '@csi-sidecars/telemetry/testing'
import { openTracing, type Tracing } from '@csi-sidecars/telemetry/tracing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { withRunIds } from './runs.ts'

const DRIVER = { name: 'csi.example.com' }

let clock: FakeClock
let runs: RunContexts
let stop: AbortController
let ended: Promise<void>
let enqueue: (key: string) => void

beforeEach(() => {
  let seed = 0
  clock = new FakeClock({ random: () => (seed += 2 ** -32) })
  runs = new RunContexts()
  stop = new AbortController()
})
afterEach(async () => {
  stop.abort(new Error('the test is over'))
  await ended
})

const controllerOf = (reconcile: AnyController['reconcile'], change: Partial<AnyController> = {}): AnyController => ({
  name: 'things',
  workers: 1,
  backoff: { baseMs: 1000, maxMs: 1000 },
  caches: [],
  sources: [
    (queue) => {
      enqueue = (key) => queue.add(key)
      return () => undefined
    },
  ],
  wakers: {},
  reconcile,
  callsDriver: false,
  ...change,
})

async function work(controllers: readonly AnyController[]): Promise<void> {
  const lead = { stop: stop.signal, cancelRuns: stop.signal, assertLeading: () => undefined, soleSince: 0 }
  ended = runTerm(lead, controllers, { clock })
  await clock.settle()
}

test('`withRunIds` returns the controllers unchanged if neither run IDs nor traces are requested', () => {
  const controllers = [controllerOf(async () => SETTLED)]
  expect(withRunIds({ clock }, DRIVER, controllers)).toBe(controllers)
})

test('each run of a controller has a unique ID, and the report of its failure repeats the ID', async () => {
  const seen: (string | undefined)[] = []
  const see = (): void => void seen.push(runs.current?.traceId)
  const reconcile = async (): Promise<Outcome> => {
    see()
    await clock.sleep(10)
    see()
    return { kind: 'retry', cause: new Error('no') }
  }
  await work(withRunIds({ runs, clock }, DRIVER, [controllerOf(reconcile, { onFailure: see })]))
  enqueue('a')
  await clock.advance(1020)
  const [first, , , second] = seen
  expect(seen).toEqual([first, first, first, second, second, second])
  expect(first).toMatch(/^[0-9a-f]{32}$/)
  expect(second).not.toBe(first)
})

test('the span of a run contains its key, its waiting time, its outcome and the driver', async () => {
  const receiver = await new OtlpReceiver().open()
  try {
    const tracing = tracingTo(receiver)
    const first = Promise.withResolvers<Outcome>()
    const traceSubject = (key: string) => ({ operation: 'attach', names: { thing: key }, traceparent: undefined })
    const reconcile = (key: string): Promise<Outcome> =>
      key === 'a' ? first.promise : Promise.resolve({ kind: 'retry', cause: new Error('no volume') })
    await work(withRunIds({ runs, tracer: tracing.tracer, clock }, DRIVER, [controllerOf(reconcile, { traceSubject })]))
    enqueue('a')
    await clock.settle()
    enqueue('b')
    await clock.advance(70)
    first.resolve(SETTLED)
    await clock.settle()
    await tracing.close(new AbortController().signal)
    expect(receiver.refusals).toEqual([])
    const [wait, run, ...others] = receiver.spans
    expect(others).toEqual([])
    expect([wait?.name, Number((wait?.endNano ?? 0n) - (wait?.startNano ?? 0n)) / 1e6]).toEqual(['wait in queue', 70])
    expect([run?.name, run?.attributes, run?.statusMessage]).toEqual([
      'attach',
      { 'csi.driver.name': 'csi.example.com', thing: 'b', 'csi.sidecar.outcome': 'retry' },
      'no volume',
    ])
  } finally {
    await receiver.close()
  }
})

function tracingTo(receiver: OtlpReceiver): Tracing {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
  const program = { name: 'csi-test', version: 'v1', hostName: 'host' }
  const tracing = openTracing({ runs, clock, log: silentLogger, metrics: new Metrics(), env, program })
  if (tracing === undefined) throw new Error('tracing is off')
  return tracing
}
