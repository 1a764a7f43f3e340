import { FakeClock } from '@csi-sidecars/base/testing'
import * as telemetry from '@csi-sidecars/telemetry'

/** One metric family as the sidecars serve it. */
export interface MetricFamily {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

/** Returns all metric families that a sidecar may serve, sorted by name. */
export async function metricFamilies(): Promise<readonly MetricFamily[]> {
  const families = [...declared(), ...(await measured())]
  return families.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the metric families that the telemetry package declares. */
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

/** Returns the metric families about the process itself, parsed from a rendered metrics text. */
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
