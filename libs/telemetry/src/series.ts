import { goFloat } from './go-text.ts'

/** The values of some or all labels of a metric. An omitted label is not printed, but an empty label is. */
export type MetricLabels<L extends string> = Readonly<Partial<Record<L, string>>>

interface Series<S> {
  readonly labels: MetricLabels<string>
  readonly state: S
}

/** A metric and its series. */
export interface ExposedFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: readonly MetricSample[]
}

/** One value of a metric that is computed when it is read. */
export interface MetricSample {
  readonly value: number
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  /** The sample's name: `name_bucket`, `name_sum` or `name_count`. Default: the family's name. */
  readonly metricName?: string
}

/** The recorded values of a metric, for each combination of label values. A metric without labels has one series. */
export class MetricSeries<S> {
  readonly #names: readonly string[]
  readonly #create: () => S
  readonly #series = new Map<string, Series<S>>()

  constructor(names: readonly string[], create: () => S) {
    this.#names = names
    this.#create = create
    if (names.length === 0) this.getOrCreate({})
  }

  /** Returns the state of a series. Creates the series if it does not exist. */
  getOrCreate(labels: MetricLabels<string>): S {
    const key = this.#keyOf(labels)
    const existing = this.#series.get(key)
    if (existing !== undefined) return existing.state
    const state = this.#create()
    this.#series.set(key, { labels: this.#declaredLabels(labels), state })
    return state
  }

  delete(labels: MetricLabels<string>): void {
    this.#series.delete(this.#keyOf(labels))
  }

  /** Returns the samples in the order in which the series were created. */
  samples(read: (state: S, labels: MetricLabels<string>) => readonly MetricSample[]): readonly MetricSample[] {
    return [...this.#series.values()].flatMap(({ labels, state }) => read(state, labels))
  }

  /** Returns the key of a combination of label values. The lengths of the values in the key make it unique. */
  #keyOf(labels: MetricLabels<string>): string {
    let key = ''
    for (const name of this.#names) {
      const value = labels[name]
      key += value === undefined ? '-' : `${value.length}:${value}`
    }
    return key
  }

  #declaredLabels(labels: MetricLabels<string>): MetricLabels<string> {
    return Object.fromEntries(
      this.#names.flatMap((name): [string, string][] => {
        const value = labels[name]
        return value === undefined ? [] : [[name, value]]
      }),
    )
  }
}

/** The observed values of a histogram, counted in buckets. */
export class Distribution {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  /** `bounds` are the upper bounds of the buckets, in rising order. One more bucket counts the values above them. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    this.#sum += value
    this.#count += 1
    let at = 0
    for (const upperBound of this.#bounds) {
      if (value <= upperBound) break
      at += 1
    }
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  /** Returns the samples of a histogram. Buckets include the counts of smaller ones. */
  samples(name: string, labels: MetricLabels<string>): readonly MetricSample[] {
    let sum = 0
    const metricName = `${name}_bucket`
    const buckets = this.#bounds.map((le, at) => {
      sum += this.#counts[at] ?? 0
      return { metricName, labels: { ...labels, le }, value: sum }
    })
    return [
      ...buckets,
      { metricName, labels: { ...labels, le: '+Inf' }, value: this.#count },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ]
  }
}

/**
 * Returns a family in the text format of Prometheus, as Go's client prints it: labels sorted by name with `le` last,
 * numbers as in Go. Queries join on the text of `le`, so it must equal the text of the Go sidecars.
 */
export function familyText({ name, help, type, values }: ExposedFamily): string {
  if (values.length === 0) return ''
  let text = `# HELP ${name} ${escapeLine(help)}\n# TYPE ${name} ${type}\n`
  for (const { value, labels, metricName = name } of values) {
    text += `${metricName}${labelsText(labels)} ${goFloat(value)}\n`
  }
  return text
}

function labelsText(labels: MetricSample['labels']): string {
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
