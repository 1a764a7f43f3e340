import { goFloat } from './go-text.ts'

/** A metric and its series. */
export interface ExposedFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly Sample[]
}

export interface Sample {
  readonly value: number
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  /** `name_bucket`, `name_sum`, `name_count`; absent when it is the family's own. */
  readonly metricName?: string
}

/**
 * A family in Prometheus' text format, as Go's client prints it: labels by name with `le` last, numbers in Go's
 * spelling. Queries join on the text of `le`, so it has to be the same for both. Empty when there is no series.
 */
export function familyText({ name, help, type, values }: ExposedFamily): string {
  if (values.length === 0) return ''
  let text = `# HELP ${name} ${escapeLine(help)}\n# TYPE ${name} ${type}\n`
  for (const { value, labels, metricName = name } of values) {
    text += `${metricName}${labelsText(labels)} ${goFloat(value)}\n`
  }
  return text
}

function labelsText(labels: Sample['labels']): string {
  const names = Object.keys(labels).sort(byNameLeLast)
  if (names.length === 0) return ''
  return `{${names.map((name) => `${name}="${labelText(labels[name])}"`).join(',')}}`
}

function byNameLeLast(a: string, b: string): number {
  if (a === 'le' || b === 'le') return a === 'le' ? 1 : -1
  return a < b ? -1 : 1
}

function labelText(value: string | number | undefined): string {
  if (typeof value === 'number') return goFloat(value)
  return escapeLine(value ?? '').replaceAll('"', '\\"')
}

function escapeLine(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
