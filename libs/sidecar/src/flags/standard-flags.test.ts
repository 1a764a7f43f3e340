import { describe, expect, test } from '@jest/globals'
import {
  automaxprocsNotice,
  leaseTimingError,
  loggingError,
  type StandardValues,
  setsBothAddresses,
} from './flag-checks.ts'
import { type FlagTable, parseFlags } from './go-flags.ts'
import { STANDARD_FLAGS } from './standard-flags.ts'
import { usageText } from './usage.ts'

function standard(line: string): StandardValues {
  const parsed = parseFlags(STANDARD_FLAGS, line === '' ? [] : line.split(' '))
  if (parsed.kind !== 'flags') throw new Error(`not parsed: ${JSON.stringify(parsed)}`)
  return parsed.flags.values
}

test('names and defaults of the standard flags equal the list that charts rely on', () => {
  const usage = usageText('csi', STANDARD_FLAGS)
    .split('\n')
    .filter((line) => line.startsWith('  -'))
  expect(usage.map((line) => line.trim().split(' ')[0])).toEqual(
    [
      'authorization-always-allow-paths authorize-metrics automaxprocs client-ca-file csi-address drain-timeout',
      'driver-grace-period enable-otel-tracing feature-gates http-endpoint kube-api-burst kube-api-qps',
      'kubeconfig leader-election leader-election-labels leader-election-lease-duration',
      'leader-election-namespace leader-election-renew-deadline leader-election-retry-period log-backlog-interval',
      'log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream logging-format',
      'metrics-address metrics-path on-driver-loss on-lease-loss retry-interval-max',
      'retry-interval-start tls-cert-file tls-cipher-suites tls-min-version tls-private-key-file tls-self-signed v version',
      'vmodule',
    ]
      .join(' ')
      .split(' ')
      .map((name) => `-${name}`),
  )
  const { 'log-json-info-buffer-size': json, 'log-text-info-buffer-size': text, ...rest } = standard('')
  expect([json.toString(), text.toString()]).toEqual(['0', '0'])
  expect(rest).toEqual({
    'authorization-always-allow-paths': '/healthz/leader-election,/livez,/readyz',
    'authorize-metrics': false,
    automaxprocs: false,
    'client-ca-file': '',
    'csi-address': '/run/csi/socket',
    'drain-timeout': 25_000,
    'driver-grace-period': 30_000,
    'enable-otel-tracing': false,
    'feature-gates': new Map(),
    'http-endpoint': '',
    'kube-api-burst': 10,
    'kube-api-qps': 5,
    kubeconfig: '',
    'leader-election': false,
    'leader-election-labels': new Map(),
    'leader-election-lease-duration': 15_000,
    'leader-election-namespace': '',
    'leader-election-renew-deadline': 10_000,
    'leader-election-retry-period': 5_000,
    'log-backlog-interval': 30_000,
    'log-flush-frequency': 5_000,
    'log-json-split-stream': false,
    'log-text-split-stream': false,
    'logging-format': 'text',
    'metrics-address': '',
    'metrics-path': '/metrics',
    'on-driver-loss': 'reconnect',
    'on-lease-loss': 'standby',
    'retry-interval-max': 300_000,
    'retry-interval-start': 1_000,
    'tls-cert-file': '',
    'tls-cipher-suites': '',
    'tls-min-version': '',
    'tls-private-key-file': '',
    'tls-self-signed': false,
    v: 0,
    version: false,
    vmodule: [],
  })
})

describe('vendors', () => {
  test.each([
    ['-v=5 --leader-election=true --csi-address=unix:///csi/csi.sock --timeout=120s'],
    ['--v=2 -v 5 --retry-interval-max=30m --kube-api-qps=100.0 --kube-api-burst=200 --worker-threads=1200'],
    ['--http-endpoint=:8080 --leader-election-namespace=kube-system --feature-gates=VolumeAttributesClass=true'],
  ])('the parser accepts a command line from the manifest of a vendor: %s', (line) => {
    const table: FlagTable = [
      ...STANDARD_FLAGS,
      { name: 'worker-threads', type: 'uint', default: 10, help: '' },
      { name: 'timeout', type: 'duration', default: 15_000, help: '' },
    ]
    expect(parseFlags(table, line.split(' ')).kind).toBe('flags')
  })

  test.each(['logtostderr', 'alsologtostderr', 'stderrthreshold=2', 'log_dir=/x', 'one_output', 'skip_headers'])(
    'the old log flag %s is refused as unknown',
    (flag) => {
      const name = flag.split('=')[0]
      expect(parseFlags(STANDARD_FLAGS, [`--${flag}`])).toEqual({
        kind: 'refused',
        error: `flag provided but not defined: -${name}`,
      })
    },
  )
})

describe('logging', () => {
  const ALPHA = 'Forbidden: Feature LoggingAlphaOptions is disabled'

  test.each<[string, string | undefined]>([
    ['', undefined],
    ['--logging-format=json -v=5', undefined],
    ['--vmodule=main=4', undefined],
    ['--log-flush-frequency=0', 'flushFrequency: Invalid value: "0s": Must be greater than zero'],
    ['--log-flush-frequency=-5s', 'flushFrequency: Invalid value: "-5s": Must be greater than zero'],
    ['--logging-format=x', 'format: Invalid value: "x": Unsupported log format'],
    ['--logging-format=', 'format: Invalid value: "": Unsupported log format'],
    ['--logging-format=json --vmodule=a=1', 'vmodule: Forbidden: Only supported for text log format'],
    ['--log-json-split-stream', `options.json.splitStream: ${ALPHA}`],
    ['--log-text-info-buffer-size=1Ki', `options.text.infoBufferSize: ${ALPHA}`],
    [
      '--log-text-split-stream --log-json-info-buffer-size=1',
      `[options.text.splitStream: ${ALPHA}, options.json.infoBufferSize: ${ALPHA}]`,
    ],
    [
      '--log-flush-frequency=0 --logging-format=y --vmodule=a=1',
      '[flushFrequency: Invalid value: "0s": Must be greater than zero, ' +
        'format: Invalid value: "y": Unsupported log format, vmodule: Forbidden: Only supported for text log format]',
    ],
  ])('the logging flags %j cause the error: %s', (line, error) => {
    expect(loggingError(standard(line))).toBe(error)
  })
})

test.each<[string, string | undefined]>([
  ['', undefined],
  ['--leader-election-lease-duration=10s', 'leaseDuration must be greater than renewDeadline'],
  ['--leader-election-renew-deadline=6s', 'renewDeadline must be greater than retryPeriod*JitterFactor'],
  ['--leader-election-renew-deadline=6001ms', undefined],
  ['--leader-election-retry-period=0', 'retryPeriod must be greater than zero'],
])('the timings %j of the leader lease cause the error: %s', (line, error) => {
  expect(leaseTimingError(standard(line))).toBe(error)
})

test.each([
  ['--http-endpoint=:1 --metrics-address=:2', true],
  ['--http-endpoint=:1', false],
  ['--metrics-address=:2', false],
])('the flags %s request two HTTP servers, one for metrics: %s', (line, both) => {
  expect(setsBothAddresses(standard(line))).toBe(both)
})

test.each([
  ['', undefined],
  ['--automaxprocs=false', undefined],
  ['--automaxprocs', 'Flag --automaxprocs has no effect: this program uses one CPU'],
])('the flags %j log the notice: %s', (line, notice) => {
  expect(automaxprocsNotice(standard(line))).toBe(notice)
})
