import { type HistogramSpec, type MetricSpec, Metrics } from '@csi-sidecars/telemetry'
import { load } from 'js-yaml'
import { ProvisionMetrics } from '../../apps/provisioner/src/metrics.ts'
import { type MetricFamily, metricFamilies } from '../../charts/tests/metric-table.ts'
import { code, table } from './markdown.ts'
import { readText } from './source-texts.ts'

/** Records the metrics that a class declares, with their labels. */
class FamilyRecorder extends Metrics {
  readonly families: MetricFamily[] = []

  override counter<const L extends string>(spec: MetricSpec<L>) {
    this.families.push({ ...spec, type: 'counter' })
    return super.counter(spec)
  }

  override histogram<const L extends string>(spec: HistogramSpec<L>) {
    this.families.push({ ...spec, type: 'histogram' })
    return super.histogram(spec)
  }
}

/** The gauges of the provisioner with `--enable-capacity`. A test compares the names with the sources. */
export const CAPACITY_GAUGES: readonly MetricFamily[] = (
  [
    ['desired_goal', 'that are supposed to be managed automatically'],
    ['desired_current', 'that exist and are supposed to be managed automatically'],
    ['obsolete', 'that exist and will be deleted automatically'],
  ] as const
).map(([name, which]) => ({
  name: `csistoragecapacities_${name}`,
  type: 'gauge',
  labels: [],
  help: `[ALPHA] Number of CSIStorageCapacity objects ${which}.`,
}))

/** Returns the metrics that only the provisioner has. */
function provisionerFamilies(): readonly MetricFamily[] {
  const recorder = new FamilyRecorder()
  new ProvisionMetrics(recorder)
  return [...recorder.families, ...CAPACITY_GAUGES]
}

export async function metricTable(): Promise<string> {
  const families = [...(await metricFamilies()), ...provisionerFamilies()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const rows = families.map(({ name, type, labels, help }) => {
    const [, stability, text] = /^\[(\w+)\] (.*)$/s.exec(help) ?? [undefined, '', help]
    return [code(name), type, labels.map(code).join(' '), (stability ?? '').toLowerCase(), text ?? '']
  })
  return table(['metric', 'type', 'labels', 'stability', 'meaning'], rows)
}

interface Alert {
  readonly alert: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

/** Returns a table with a row for each alert of the chart. The `runbook_url` of the alert leads to its row. */
export function alertTable(): string {
  const alerts = load(readText('charts/csi-sidecars/files/alerts.yaml')) as readonly Alert[]
  const plainText = (text: string): string =>
    text.replace(/\{\{ \$labels\.(\w+) \}\}/g, '`<$1>`').replace(/\{\{ \$value[^}]*\}\}/g, '`<value>`')
  const rows = alerts.map(({ alert, labels, annotations, for: after }) => {
    const when = after === undefined ? 'at once' : `after ${after}`
    const name = `<a id="${alert.toLowerCase()}"></a>${code(alert)}, ${labels.severity}, ${when}`
    return [name, plainText(annotations.summary), annotations.description]
  })
  return table(['alert', 'it means', 'do'], rows)
}
