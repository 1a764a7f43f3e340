import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, test } from '@jest/globals'
import * as specs from './metric-names.ts'
import { type HistogramSpec, type MetricSpec, Metrics } from './metrics.ts'
import { processStartSeconds, registerProcessMetrics, watchEventLoop } from './process-metrics.ts'

const named = { name: 'n', help: 'h', labels: ['name'] } as const

describe('the exposition', () => {
  test('the exposition prints counters and gauges with help, type and labels, and sorts the families by name', async () => {
    const metrics = new Metrics()
    metrics.gauge({ ...named, name: 'z_depth' }).set({ name: 'q' }, 3)
    const adds = metrics.counter({ ...named, name: 'a_total', help: 'Adds \\ and\nmore.' })
    adds.inc({ name: 'q' })
    adds.inc({ name: 'q' }, 2)
    expect(await metrics.text()).toBe(
      '# HELP a_total Adds \\\\ and\\nmore.\n# TYPE a_total counter\na_total{name="q"} 3\n' +
        '# HELP z_depth h\n# TYPE z_depth gauge\nz_depth{name="q"} 3\n',
    )
  })

  test('the exposition prints an empty label value, omits an absent label, and escapes special characters', async () => {
    const metrics = new Metrics()
    const gauge = metrics.gauge({ name: 'g', help: 'h', labels: ['b', 'a'] })
    gauge.set({ b: '' }, 1)
    gauge.set({ b: 'x', a: 'q"\\\n' }, 2)
    expect((await metrics.text()).split('\n').slice(2)).toEqual(['g{b=""} 1', 'g{a="q\\"\\\\\\n",b="x"} 2', ''])
  })

  test('the exposition keeps two series apart even if their joined label values are equal', async () => {
    const metrics = new Metrics()
    const counter = metrics.counter({ name: 'c', help: 'h', labels: ['a', 'b'] })
    for (const labels of [{ a: '1:x' }, { a: '', b: '1:x' }, { a: '1', b: ':x' }, { b: '1:x' }, { a: '1:x' }]) {
      counter.inc(labels)
    }
    expect((await metrics.text()).match(/\d$/gm)).toEqual(['2', '1', '1', '1'])
  })

  test('the exposition omits a family of metrics that has no series', async () => {
    const metrics = new Metrics()
    metrics.counter(specs.LEADER_ELECTION_SLOWPATH_TOTAL)
    metrics.histogram(specs.CSI_OPERATIONS_SECONDS)
    expect(await metrics.text()).toBe('')
  })

  test('the exposition contains a metric without labels from the start', async () => {
    const metrics = new Metrics()
    metrics.counter({ name: 'c_total', help: 'h', labels: [] })
    expect(await metrics.text()).toMatch(/^c_total 0$/m)
  })

  test('the exposition omits a series that was removed', async () => {
    const metrics = new Metrics()
    const gauge = metrics.gauge(named)
    gauge.set({ name: 'a' }, 1)
    gauge.set({ name: 'b' }, 1)
    gauge.remove({ name: 'a' })
    expect((await metrics.text()).match(/\{.*\}/g)).toEqual(['{name="b"}'])
  })

  test('the exposition runs the collectors before it prints, until they are removed', async () => {
    const metrics = new Metrics()
    const gauge = metrics.gauge(named)
    let reads = 0
    const stop = metrics.onCollect(async () => {
      reads += 1
      gauge.set({ name: 'q' }, reads)
    })
    await metrics.text()
    expect(await metrics.text()).toMatch(/^n\{name="q"\} 2$/m)
    stop()
    expect(await metrics.text()).toMatch(/^n\{name="q"\} 2$/m)
  })

  test('the exposition omits a metric whose read function returns no value', async () => {
    const metrics = new Metrics()
    let value: number | undefined
    metrics.addReading({ name: 'r_total', help: 'h', type: 'counter', read: () => value })
    expect(await metrics.text()).toBe('')
    value = 1048576
    expect(await metrics.text()).toBe('# HELP r_total h\n# TYPE r_total counter\nr_total 1.048576e+06\n')
  })
})

test('a series with a read function shows its current values and labels in each exposition', async () => {
  const metrics = new Metrics()
  let values = [1, 2]
  const read = (): { labels: { name: string }; value: number }[] =>
    values.map((value) => ({ labels: { name: `n${value}` }, value }))
  metrics.addSeries({ name: 's', help: 'h', labels: ['name'], read })
  expect(await metrics.text()).toBe('# HELP s h\n# TYPE s gauge\ns{name="n1"} 1\ns{name="n2"} 2\n')
  values = []
  expect(await metrics.text()).toBe('')
})

test('a second registration of a metric with the same name returns the same metric', async () => {
  const metrics = new Metrics()
  metrics.counter(named).inc({ name: 'a' })
  metrics.counter(named).inc({ name: 'a' })
  expect(await metrics.text()).toMatch(/^n\{name="a"\} 2$/m)
})

test('a counter and a gauge cannot have the same name', () => {
  const metrics = new Metrics()
  metrics.counter(named)
  expect(() => metrics.gauge(named)).toThrow('the metric n is a counter already')
})

describe('histograms', () => {
  async function bounds(spec: HistogramSpec<'name'>): Promise<string[]> {
    const metrics = new Metrics()
    metrics.histogram(spec).observe({ name: 'q' }, 5)
    return [...(await metrics.text()).matchAll(/le="([^"]*)"/g)].map(([, upperBound]) => upperBound ?? '')
  }

  test.each([specs.WORKQUEUE_QUEUE_DURATION_SECONDS, specs.WORKQUEUE_WORK_DURATION_SECONDS])(
    'the histogram $name has the bucket bounds of the Go sidecars, in the same spelling',
    async (spec) => {
      expect(await bounds(spec)).toEqual(
        '1e-08 1e-07 1e-06 9.999999999999999e-06 9.999999999999999e-05 0.001 0.01 0.1 1 10 +Inf'.split(' '),
      )
    },
  )

  test('the histogram of driver calls has the bounds and labels that dashboards use', async () => {
    const metrics = new Metrics()
    const labels = { driver_name: 'd', method_name: '/csi.v1.Identity/Probe', grpc_status_code: 'OK' }
    metrics.histogram(specs.CSI_OPERATIONS_SECONDS).observe(labels, 0.3)
    const series = 'driver_name="d",grpc_status_code="OK",method_name="/csi.v1.Identity/Probe"'
    const buckets = '0.1 0.25 0.5 1 2.5 5 10 15 25 50 120 300 600 +Inf'.split(' ')
    expect((await metrics.text()).split('\n')).toEqual([
      '# HELP csi_sidecar_operations_seconds [ALPHA] Container Storage Interface operation duration with gRPC error code status total',
      '# TYPE csi_sidecar_operations_seconds histogram',
      ...buckets.map((le, at) => `csi_sidecar_operations_seconds_bucket{${series},le="${le}"} ${at < 2 ? 0 : 1}`),
      `csi_sidecar_operations_seconds_sum{${series}} 0.3`,
      `csi_sidecar_operations_seconds_count{${series}} 1`,
      '',
    ])
  })

  test('a histogram bucket counts all values up to and including its upper bound', async () => {
    const metrics = new Metrics()
    const histogram = metrics.histogram({ name: 'h', help: 'h', labels: [], buckets: [1, 2] })
    for (const value of [0.5, 1, 2, 2, 3]) histogram.observe({}, value)
    expect((await metrics.text()).split('\n').slice(2)).toEqual([
      'h_bucket{le="1"} 2',
      'h_bucket{le="2"} 4',
      'h_bucket{le="+Inf"} 5',
      'h_sum 8.5',
      'h_count 5',
      '',
    ])
  })

  test('`createAtZero` makes a histogram series visible before its first observation', async () => {
    const metrics = new Metrics()
    metrics.histogram({ ...named, buckets: [1] }).createAtZero({ name: 'q' })
    expect(await metrics.text()).toMatch(/^n_count\{name="q"\} 0$/m)
  })

  test('the bucket bounds of request sizes are spelled as in Go', async () => {
    const metrics = new Metrics()
    metrics.histogram(specs.REST_CLIENT_REQUEST_SIZE_BYTES).observe({ verb: 'GET', host: 'h' }, 1)
    const text = await metrics.text()
    expect([...text.matchAll(/le="([^"]*)"/g)].map(([, upperBound]) => upperBound)).toEqual(
      '64 256 512 1024 4096 16384 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07 +Inf'.split(' '),
    )
  })
})

test.each(Object.values(specs) as MetricSpec<string>[])(
  'the help of $name begins with its stability level',
  ({ name, help }) => {
    const stability = name.startsWith('workqueue_') ? '[BETA] ' : '[ALPHA] '
    expect(help.startsWith(stability)).toBe(true)
  },
)

describe('process metrics', () => {
  const onLinux = process.platform === 'linux' ? test : test.skip
  onLinux('all process metrics exist if the system has /proc', async () => {
    const metrics = new Metrics()
    registerProcessMetrics(metrics)
    const names = [...(await metrics.text()).matchAll(/^(process_\w+) \S+$/gm)].map(([, name]) => name)
    expect(names).toEqual([
      'process_cpu_seconds_total',
      'process_max_fds',
      'process_network_receive_bytes_total',
      'process_network_transmit_bytes_total',
      'process_open_fds',
      'process_resident_memory_bytes',
      'process_start_time_seconds',
      'process_virtual_memory_bytes',
      'process_virtual_memory_max_bytes',
    ])
  })

  test('process metrics that need /proc are omitted if it does not exist', async () => {
    const metrics = new Metrics()
    registerProcessMetrics(metrics, '/nonexistent')
    const names = [...(await metrics.text()).matchAll(/^(process_\w+) \S+$/gm)].map(([, name]) => name)
    expect(names).toEqual(['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_start_time_seconds'])
  })

  test('the start time of the process lies in the past', () => {
    expect(processStartSeconds()).toBeLessThan(new Date(8.64e15).getTime())
    expect(processStartSeconds()).toBeGreaterThan(1_700_000_000)
  })
})

describe('event loop', () => {
  test('the exposition reports a delay of the event loop only once', async () => {
    const clock = new FakeClock()
    const metrics = new Metrics()
    const watch = watchEventLoop(clock, metrics)
    await clock.advance(15_000)
    expect(watch.overdueMs()).toBe(0)
    await clock.freeze(16_000)
    expect(await metrics.text()).toMatch(/^nodejs_eventloop_lag_max_seconds 11$/m)
    expect(await metrics.text()).toMatch(/^nodejs_eventloop_lag_max_seconds 0$/m)
    watch.stop()
    expect(clock.pending).toBe(0)
  })

  test('`overdueMs` grows while the heartbeat of the event loop is missing', async () => {
    const clock = new FakeClock()
    const watch = watchEventLoop(clock, new Metrics())
    const elapsed = clock.monotonic.bind(clock)
    clock.monotonic = () => elapsed() + 15_500
    expect(watch.overdueMs()).toBe(10_500)
    watch.stop()
  })
})
