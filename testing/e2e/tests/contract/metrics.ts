import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import type { ScrapedMetrics } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { begin, scene, work } from '../../rows/work.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
const CSI_BUCKETS = ['0.1', '0.25', '0.5', '1', '2.5', '5', '10', '15', '25', '50', '120', '300', '600', '+Inf']
const QUEUE_BUCKETS = [
  '1e-08',
  '1e-07',
  '1e-06',
  '9.999999999999999e-06',
  '9.999999999999999e-05',
  '0.001',
  '0.01',
  '0.1',
  '1',
  '10',
  '+Inf',
]
/** The names of metrics of the Go runtime and of Kubernetes libraries, which the comparison ignores. */
const OF_GO_LIBRARIES = /^(?:go|aggregator|apiserver|cardinality|disabled|hidden|registered|rest_client)_/
const CSI = 'csi_sidecar_operations_seconds'

async function worked(t: TestContext, args: readonly string[] = []): Promise<RunningSidecar> {
  const { sidecar } = await scene(t, { args })
  await work(t)
  return sidecar
}

/** Returns the buckets of a histogram for the series with this label. */
function bucketsOf(
  { samples }: ScrapedMetrics,
  name: string,
  [label, value]: readonly [string, string],
): ScrapedMetrics['samples'] {
  return samples.filter((sample) => sample.name === `${name}_bucket` && sample.labels[label] === value)
}

const boundsOf = (series: ScrapedMetrics['samples']): unknown[] => series.map(({ labels }) => labels['le'])

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'metrics')
  const queues = (t: TestContext): readonly string[] =>
    app === 'attacher' ? ['csi-attacher-va', 'csi-attacher-pv'] : [`${t.driverName}-pvc`]

  test('the histogram of CSI calls has the labels and buckets of the Go sidecar', async (t) => {
    const metrics = await (await worked(t)).metrics()
    equal(metrics.families.get(CSI), {
      type: 'histogram',
      help: '[ALPHA] Container Storage Interface operation duration with gRPC error code status total',
    })
    const method_name = `/csi.v1.Controller/${FACTS[app].mainMethod}`
    const series = bucketsOf(metrics, CSI, ['method_name', method_name])
    equal(boundsOf(series), CSI_BUCKETS)
    const { le: _, ...labels } = series[0]?.labels ?? {}
    equal(labels, { driver_name: t.driverName, grpc_status_code: 'OK', method_name })
    ok((metrics.value(`${CSI}_count`, { method_name }) ?? 0) >= 1)
    const early = metrics.samples
      .filter((sample) => sample.name === `${CSI}_count` && sample.labels['driver_name'] === 'unknown-driver')
      .map((sample) => sample.labels['method_name']?.split('/').at(-1))
    const expected =
      app === 'attacher'
        ? ['GetPluginInfo', 'Probe']
        : ['ControllerGetCapabilities', 'GetPluginCapabilities', 'GetPluginInfo', 'Probe']
    equal(early.sort(), expected)
  })

  // The test fails if a newer Go sidecar has a metric that docs/reference.md does not mention.
  test('docs/reference.md documents every metric of the Go sidecar', { only: 'originals' }, async (t) => {
    const metrics = await (await worked(t)).metrics()
    const documented = readFileSync(join(ROOT, 'docs/reference.md'), 'utf8')
    const names = [...metrics.families.keys()].filter((name) => !OF_GO_LIBRARIES.test(name))
    equal(
      names.filter((name) => !documented.includes(`\`${name}\``)),
      [],
    )
  })

  test('the metrics count failed driver calls by the name of their gRPC code', async (t) => {
    const [code, grpc_status_code] = app === 'attacher' ? [1, 'Canceled'] : [9, 'FailedPrecondition']
    const { driver, sidecar } = await scene(t)
    driver.on(FACTS[app].mainMethod, { code, message: 'no' })
    await begin(t)
    const counted = async (): Promise<number> =>
      (await sidecar.metrics()).value(`${CSI}_count`, { grpc_status_code }) ?? 0
    await eventually('a count', async () => (await counted()) >= 1)
  })

  test('the metrics of work queues have the types, help and buckets of the Go sidecar', async (t) => {
    const sidecar = await worked(t)
    const idle = async (): Promise<ScrapedMetrics | false> => {
      const seen = await sidecar.metrics()
      return queues(t).every((name) => seen.value('workqueue_depth', { name }) === 0) && seen
    }
    const metrics = await eventually('empty queues', idle)
    const kinds = Object.fromEntries(
      [...metrics.families].filter(([name]) => name.startsWith('workqueue_')).map(([name, { type }]) => [name, type]),
    )
    equal(kinds, {
      workqueue_adds_total: 'counter',
      workqueue_depth: 'gauge',
      workqueue_longest_running_processor_seconds: 'gauge',
      workqueue_queue_duration_seconds: 'histogram',
      workqueue_retries_total: 'counter',
      workqueue_unfinished_work_seconds: 'gauge',
      workqueue_work_duration_seconds: 'histogram',
    })
    for (const [name, { help }] of metrics.families) if (name.startsWith('workqueue_')) match(help, /^\[BETA\] /)
    for (const queue of queues(t)) {
      ok((metrics.value('workqueue_retries_total', { name: queue }) ?? -1) >= 0)
      for (const metric of ['workqueue_queue_duration_seconds', 'workqueue_work_duration_seconds']) {
        equal(boundsOf(bucketsOf(metrics, metric, ['name', queue])), QUEUE_BUCKETS)
      }
    }
    ok((metrics.value('workqueue_adds_total', { name: queues(t)[0] ?? '' }) ?? 0) >= 1)
    ok((metrics.value('workqueue_work_duration_seconds_count', { name: queues(t)[0] ?? '' }) ?? 0) >= 1)
  })

  test('workqueue_retries_total counts the retries of failed operations', async (t) => {
    const args = ['--retry-interval-start=100ms', '--retry-interval-max=100ms']
    const { driver, sidecar } = await scene(t, { args })
    driver.on(FACTS[app].mainMethod, { code: 13, message: 'no' })
    await begin(t)
    const queue = queues(t)[0] ?? ''
    for (let before = 0; before < 3; ) {
      before = (await sidecar.metrics()).value('workqueue_retries_total', { name: queue }) ?? 0
    }
  })

  test('the metrics of memory, CPU time, files and network have plausible values', async (t) => {
    const metrics = await (await worked(t)).metrics()
    for (const name of [
      'process_start_time_seconds',
      'process_cpu_seconds_total',
      'process_open_fds',
      'process_max_fds',
      'process_resident_memory_bytes',
      'process_virtual_memory_bytes',
      'process_virtual_memory_max_bytes',
      'process_network_receive_bytes_total',
      'process_network_transmit_bytes_total',
    ]) {
      ok((metrics.value(name) ?? -1) > 0, name)
    }
    const start = metrics.value('process_start_time_seconds') ?? 0
    ok(Math.abs(start - Date.now() / 1000) < 60, `${start}`)
    const rss = metrics.value('process_resident_memory_bytes') ?? 0
    ok(rss > 10e6 && rss < 500e6, `${rss}`)
  })

  test('the metric leader_election_master_status is 1 for the leader, with an empty label `name`', async (t) => {
    const sidecar = await worked(t, ['--leader-election'])
    const metrics = await sidecar.metrics()
    const status = 'leader_election_master_status'
    const samples = metrics.samples.filter(({ name }) => name === status)
    equal(samples, [{ name: status, labels: { name: '' }, value: 1 }])
    match(metrics.families.get(status)?.help ?? '', /^\[ALPHA\] /)
  })
}

const resizer = testsOf('resizer', 'metrics')

resizer('the rest_client metrics have the labels and buckets of the Go sidecar', async (t) => {
  const sidecar = await worked(t)
  const host = sidecar.gate.url.replace('https://', '')
  const requests = (metrics: ScrapedMetrics, method: string): number =>
    metrics.value('rest_client_requests_total', { code: '200', method, host }) ?? 0
  // The resizer counts the answer to its last write a moment after the test sees the written object.
  const metrics = await eventually('three patches', async () => {
    const seen = await sidecar.metrics()
    return requests(seen, 'PATCH') >= 3 && seen
  })
  const durations = ['0.005', '0.025', '0.1', '0.25', '0.5', '1', '2', '4', '8', '15', '30', '60', '+Inf']
  const sizes = [
    '64',
    '256',
    '512',
    '1024',
    '4096',
    '16384',
    '65536',
    '262144',
    '1.048576e+06',
    '4.194304e+06',
    '1.6777216e+07',
    '+Inf',
  ]
  for (const [name, buckets] of [
    ['rest_client_request_duration_seconds', durations],
    ['rest_client_rate_limiter_duration_seconds', durations],
    ['rest_client_request_size_bytes', sizes],
    ['rest_client_response_size_bytes', sizes],
  ] as const) {
    const family = metrics.families.get(name)
    equal(family?.type, 'histogram')
    match(family?.help ?? '', /^\[ALPHA\] /)
    const series = bucketsOf(metrics, name, ['verb', 'PATCH'])
    equal(boundsOf(series), buckets)
    equal(new Set(series.map(({ labels }) => labels['host'])), new Set([host]))
  }
  ok(requests(metrics, 'GET') >= 2)
})
