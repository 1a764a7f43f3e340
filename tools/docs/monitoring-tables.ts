import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { metricFamilies } from '../../charts/tests/metric-table.ts'
import { code, table } from './markdown.ts'
import { ROOT } from './source-texts.ts'

export async function metricTable(): Promise<string> {
  const families = await metricFamilies()
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

/** Returns a section for each alert of the chart. The `runbook_url` of the alert leads to its heading. */
export function alertSections(): string {
  const alerts = load(readFileSync(join(ROOT, 'charts/csi-sidecars/files/alerts.yaml'), 'utf8')) as readonly Alert[]
  const words = (text: string): string =>
    text.replace(/\{\{ \$labels\.(\w+) \}\}/g, '<$1>').replace(/\{\{ \$value[^}]*\}\}/g, '<value>')
  return alerts
    .map(({ alert, labels, annotations, for: after }) => {
      const { summary, description } = annotations
      const when = after === undefined ? 'at once' : `after ${after}`
      return `### ${alert}\n\n**${words(summary)}** ${description}\n\nSeverity ${labels.severity}, ${when}.`
    })
    .join('\n\n')
}
