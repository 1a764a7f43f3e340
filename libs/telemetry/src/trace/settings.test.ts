import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { readSettings, samplerOf, type TraceSettings, TracingDisabled, VariableError } from './settings.ts'

const DEFAULT_ATTRIBUTES = { 'service.name': 'csi-attacher', 'service.version': 'v1' }
const read = (env: Record<string, string>): TraceSettings => readSettings(env, DEFAULT_ATTRIBUTES)

function thrown(env: Record<string, string>): VariableError {
  try {
    read(env)
  } catch (error) {
    if (error instanceof VariableError) return error
    throw error
  }
  throw new Error('it was read')
}

test('tracing uses the defaults of OpenTelemetry if no environment variable is set', () => {
  const { sampler, samplerName, export: exporting, ...rest } = read({})
  const { url, ...more } = exporting
  expect(url.href).toBe('http://localhost:4318/v1/traces')
  expect(more).toEqual({ encoding: 'protobuf', gzip: false, headers: {}, timeoutMs: 10_000, tls: {} })
  expect([samplerName, sampler('1'.repeat(32), undefined)]).toEqual(['parentbased_always_on', true])
  expect(rest).toEqual({
    batch: { delayMs: 5000, queueSize: 2048, batchSize: 512, timeoutMs: 30_000 },
    resource: DEFAULT_ATTRIBUTES,
  })
})

test('an empty variable of the environment counts as absent', () => {
  const empty = { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_SAMPLER: ' ', OTEL_BSP_SCHEDULE_DELAY: '' }
  expect(JSON.stringify(read(empty))).toBe(JSON.stringify(read({})))
})

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector:4318' }, 'https://collector:4318/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector/otlp/' }, 'http://collector/otlp/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector/' }, 'http://collector/'],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a/in', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://b' }, 'http://a/in'],
])('the variables %j send spans to %s', (env, url) => {
  expect(read(env).export.url.href).toBe(url)
})

test('environment variables for traces override the variables for all signals', () => {
  const { export: exporting } = read({
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
  })
  expect(exporting).toMatchObject({ encoding: 'json', timeoutMs: 2000, gzip: true })
})

test('the variables for headers and for attributes contain pairs with percent-encoded values', () => {
  const { export: exporting, resource } = read({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc==, x-scope = one ,',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,team=st%C3%B6rage',
    OTEL_SERVICE_NAME: 'mine',
  })
  expect(exporting.headers).toEqual({ authorization: 'Bearer abc==', 'x-scope': 'one' })
  expect(resource).toEqual({ ...DEFAULT_ATTRIBUTES, 'service.name': 'mine', team: 'störage' })
})

test('the batch size of spans never exceeds the queue size', () => {
  expect(read({ OTEL_BSP_MAX_QUEUE_SIZE: '7' }).batch).toMatchObject({ queueSize: 7, batchSize: 7 })
})

test('the environment variables for certificates contain paths of files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'settings-'))
  try {
    const file = (name: string): string => {
      writeFileSync(join(folder, name), `the ${name}`)
      return join(folder, name)
    }
    const env = {
      OTEL_EXPORTER_OTLP_CERTIFICATE: file('ca'),
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: file('cert'),
      OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: file('key'),
    }
    expect(read(env).export.tls).toEqual({ ca: 'the ca', cert: 'the cert', key: 'the key' })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

describe('invalid variables', () => {
  test.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'canary'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'canary'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'unix:///canary'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'canary'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=canary%0Ax'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'not%20a%20name=canary'],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=canary%'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
    ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/nonexistent'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_TRACES_SAMPLER', 'canary'],
    ['OTEL_RESOURCE_ATTRIBUTES', '=canary'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_BSP_SCHEDULE_DELAY', '-1'],
  ])('the error for the variable %s=%s names the variable and hides the value', (variable, value) => {
    const error = thrown({ [variable]: value })
    expect(error).not.toBeInstanceOf(TracingDisabled)
    expect(error.variable).toBe(variable)
    expect(error.message).not.toContain('canary')
  })

  test('the error for an invalid argument of the sampler names the environment variable of the argument', () => {
    const error = thrown({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' })
    expect(error.variable).toBe('OTEL_TRACES_SAMPLER_ARG')
  })
})

test.each([
  ['OTEL_SDK_DISABLED', 'TRUE'],
  ['OTEL_TRACES_EXPORTER', 'none'],
])('the environment variable %s=%s disables tracing', (variable, value) => {
  expect(thrown({ [variable]: value })).toBeInstanceOf(TracingDisabled)
})

const id = (last: string): string => last.padStart(32, '1')
const LOW = id('0000000000000001')
const MIDDLE = id('8000000000000000')
const HIGH = id('ffffffffffffffff')
const parent = (sampled: boolean) => ({ traceId: HIGH, spanId: '1111111111111111', sampled })

test.each([
  ['always_on', '', [true, true, true]],
  ['always_off', '', [false, false, false]],
  ['traceidratio', '', [true, true, true]],
  ['traceidratio', '1', [true, true, true]],
  ['traceidratio', '0', [false, false, false]],
  ['traceidratio', '0.5', [true, false, false]],
  ['traceidratio', '0.500001', [true, true, false]],
  ['parentbased_always_on', '', [true, true, true]],
  ['parentbased_always_off', '', [false, false, false]],
  ['parentbased_traceidratio', '0.5', [true, false, false]],
])('the sampler %s with the argument "%s" decides by the trace ID', (name, argument, expected) => {
  expect([LOW, MIDDLE, HIGH].map((traceId) => samplerOf(name, argument)(traceId, undefined))).toEqual(expected)
})

test.each(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'])(
  'the sampler %s follows the decision of the parent span',
  (name) => {
    const sampler = samplerOf(name, '')
    expect([true, false].map((sampled) => sampler(MIDDLE, parent(sampled)))).toEqual([true, false])
  },
)

test('samplers that are not parent-based ignore the decision of the parent span', () => {
  expect(samplerOf('always_on', '')(MIDDLE, parent(false))).toBe(true)
  expect(samplerOf('always_off', '')(MIDDLE, parent(true))).toBe(false)
})

test.each([
  ['jaeger_remote', ''],
  ['', ''],
  ['parentbased_', ''],
  ['traceidratio', 'half'],
  ['traceidratio', '1.1'],
  ['traceidratio', '-0.1'],
  ['parentbased_traceidratio', 'NaN'],
])('the sampler %j with the argument %j is refused as invalid', (name, argument) => {
  expect(() => samplerOf(name, argument)).toThrow(VariableError)
})
