import { FakeClock } from '@csi-sidecars/base/testing'
import { expect, test } from '@jest/globals'
import { Metrics } from '../metrics.ts'
import { OtlpReceiver } from '../testing/otlp-receiver.ts'
import { type RecordingLogger, recordingLogger } from '../testing/recording-logger.ts'
import { openTracing, type Tracing } from './open.ts'
import { RunContexts } from './run-context.ts'

function open(env: Record<string, string>): { tracing: Tracing | undefined; log: RecordingLogger } {
  const log = recordingLogger()
  const program = { name: 'csi-attacher', version: 'v1', hostName: 'pod-1' }
  let seed = 0
  const clock = new FakeClock({ random: () => (seed += 2 ** -32) })
  return { log, tracing: openTracing({ runs: new RunContexts(), clock, log, metrics: new Metrics(), env, program }) }
}

const signal = new AbortController().signal

test('each span names the program and the host that sent the span', async () => {
  const receiver = await new OtlpReceiver().open()
  try {
    const endpoint = receiver.url.replace('//', '//user:canary@')
    const { tracing, log } = open({ OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}?key=canary` })
    const run = tracing?.tracer.start({ name: 'attach', attributes: {}, traceparent: undefined, waitedMs: 0 })
    run?.trace.end({}, new Error('no volume'))
    await tracing?.close(signal)
    expect(receiver.spans.map(({ name }) => name)).toEqual(['wait in queue', 'attach'])
    expect(receiver.spans[0]?.resource).toEqual({
      'service.name': 'csi-attacher',
      'service.version': 'v1',
      'host.name': 'pod-1',
      'telemetry.sdk.name': 'csi-sidecars',
      'telemetry.sdk.language': 'nodejs',
    })
    const pairs = { endpoint: `${receiver.url}/v1/traces`, encoding: 'protobuf', sampler: 'parentbased_always_on' }
    expect(log.lines).toEqual([{ level: 0, message: 'Tracing is on', pairs }])
  } finally {
    await receiver.close()
  }
})

test('an invalid environment variable turns tracing off, and one logged error names the variable', () => {
  const { tracing, log } = open({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })
  expect(tracing).toBeUndefined()
  expect(log.lines).toMatchObject([
    { level: 'error', message: 'Tracing is off', pairs: { variable: 'OTEL_EXPORTER_OTLP_PROTOCOL' } },
  ])
})

test('the start logs no error if an environment variable disables tracing', () => {
  const { tracing, log } = open({ OTEL_SDK_DISABLED: 'true' })
  expect(tracing).toBeUndefined()
  expect(log.lines).toMatchObject([{ level: 0, message: 'Tracing is off', pairs: { variable: 'OTEL_SDK_DISABLED' } }])
})
