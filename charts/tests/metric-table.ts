import { FakeClock } from '@csi-sidecars/base/testing'
import * as telemetry from '@csi-sidecars/telemetry'

/** One metric family as the sidecars serve it. */
export interface MetricFamily {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

/** Every family that a sidecar may serve, in the order of their names. */
export async function metricFamilies(): Promise<readonly MetricFamily[]> {
  const families = [...declared(), ...(await measured())]
  return families.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Metric families whose names are written in the code, and not composed from other names. */
function declared(): MetricFamily[] {
  return Object.values(telemetry).flatMap((value) => (isSpec(value) ? [{ ...value, type: typeOf(value) }] : []))
}

interface Spec {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly buckets?: readonly number[]
}

function isSpec(value: unknown): value is Spec {
  return typeof value === 'object' && value !== null && 'help' in value && 'labels' in value
}

function typeOf({ name, buckets }: Spec): MetricFamily['type'] {
  if (buckets !== undefined) return 'histogram'
  return name.endsWith('_total') ? 'counter' : 'gauge'
}

/** Returns the metrics that a process measures about itself, read from an exposition. */
async function measured(): Promise<MetricFamily[]> {
  const metrics = new telemetry.Metrics()
  telemetry.registerProcessMetrics(metrics)
  const clock = new FakeClock()
  using watches = new DisposableStack()
  watches.defer(telemetry.watchEventLoop(clock, metrics).stop)
  const text = await metrics.text()
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (counter|gauge)$/gm)].map(
    ([, name = '', help = '', type]) => ({
      name,
      help,
      type: type === 'counter' ? 'counter' : 'gauge',
      labels: [],
    }),
  )
}
