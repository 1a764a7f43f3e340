import { invariant } from '@csi-sidecars/base'
import { Distribution, type ExposedFamily, familyText, type MetricLabels, MetricSeries } from './series.ts'

/** The name, the help text and the label names of a metric. */
export interface MetricSpec<L extends string> {
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
}

/** A histogram. The buckets are upper bounds in rising order. */
export interface HistogramSpec<L extends string> extends MetricSpec<L> {
  /** The upper bounds of the buckets in rising order, without +Inf. They are printed as in Go: 1e-8 is `le="1e-08"`. */
  readonly buckets: readonly number[]
}

/** A value that only grows. */
export interface Counter<L extends string> {
  inc(labels?: MetricLabels<L>, by?: number): void
}

/** A value that rises and falls. */
export interface Gauge<L extends string> {
  set(labels: MetricLabels<L>, value: number): void
  remove(labels: MetricLabels<L>): void
}

/** Counts of observed values in buckets. */
export interface Histogram<L extends string> {
  observe(labels: MetricLabels<L>, value: number): void
  /** Creates the series, so that the exposition shows it before the first observation. */
  createAtZero(labels: MetricLabels<L>): void
}

/** A metric without labels. Its value is stored elsewhere and is read for each exposition. */
export interface ReadingSpec {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  /** Returns the value, or undefined to omit the metric. Must not throw. */
  read(): number | undefined
}

/** A gauge whose series are stored elsewhere and are read for each exposition. */
export interface SeriesSpec extends MetricSpec<string> {
  /** Returns one value for each combination of labels. Must not throw. */
  read(): Iterable<{ readonly labels: MetricLabels<string>; readonly value: number }>
}

/** Updates gauges that are computed only for an exposition. */
export type Collect = () => void | Promise<void>

type Kind = 'counter' | 'gauge' | 'histogram'

/** The metrics of one process. A second request for a name returns the same metric, so that queues share it. */
export class Metrics {
  readonly #families: (() => ExposedFamily)[] = []
  readonly #metrics = new Map<string, { readonly kind: Kind; readonly metric: unknown }>()
  readonly #collectors = new Set<Collect>()

  counter<const L extends string>(spec: MetricSpec<L>): Counter<L> {
    return this.#metric('counter', spec.name, () => {
      const table = this.#numbers('counter', spec)
      const inc = (values?: MetricLabels<L>, by = 1): void => {
        table.getOrCreate(values ?? {}).value += by
      }
      return { inc }
    })
  }

  gauge<const L extends string>(spec: MetricSpec<L>): Gauge<L> {
    return this.#metric('gauge', spec.name, () => {
      const table = this.#numbers('gauge', spec)
      const set = (values: MetricLabels<L>, value: number): void => {
        table.getOrCreate(values).value = value
      }
      return { set, remove: (values: MetricLabels<L>) => table.delete(values) }
    })
  }

  histogram<const L extends string>({ name, help, labels, buckets }: HistogramSpec<L>): Histogram<L> {
    return this.#metric('histogram', name, () => {
      const table = new MetricSeries(labels, () => new Distribution(buckets))
      const samples = (each: Distribution, of: MetricLabels<string>) => each.samples(name, of)
      this.#families.push(() => ({ name, help, type: 'histogram', values: table.samples(samples) }))
      return {
        observe: (values: MetricLabels<L>, value: number) => table.getOrCreate(values).observe(value),
        createAtZero: (values: MetricLabels<L>) => void table.getOrCreate(values),
      }
    })
  }

  #numbers(type: 'counter' | 'gauge', { name, help, labels }: MetricSpec<string>): MetricSeries<{ value: number }> {
    const table = new MetricSeries(labels, () => ({ value: 0 }))
    this.#families.push(() => ({ name, help, type, values: table.samples(({ value }, labels) => [{ value, labels }]) }))
    return table
  }

  #metric<M>(kind: Kind, name: string, create: () => M): M {
    const existing = this.#metrics.get(name)
    invariant(existing === undefined || existing.kind === kind, `the metric ${name} is a ${existing?.kind} already`)
    // Metrics of the same name and kind have the same type.
    if (existing !== undefined) return existing.metric as M
    const metric = create()
    this.#metrics.set(name, { kind, metric })
    return metric
  }

  addReading({ name, help, type, read }: ReadingSpec): void {
    this.#families.push(() => {
      const value = read()
      return { name, help, type, values: value === undefined ? [] : [{ value, labels: {} }] }
    })
  }

  addSeries({ name, help, read }: SeriesSpec): void {
    this.#families.push(() => ({ name, help, type: 'gauge', values: [...read()] }))
  }

  /** Runs `collect` before each exposition, until the returned function is called. */
  onCollect(collect: Collect): () => void {
    this.#collectors.add(collect)
    return () => this.#collectors.delete(collect)
  }

  /** Returns all metrics in the text format of Prometheus, sorted by name. Omits families that have no series. */
  async text(): Promise<string> {
    for (const collect of this.#collectors) await collect()
    const families = this.#families.map((family) => family())
    families.sort((a, b) => (a.name < b.name ? -1 : 1))
    return families.map(familyText).join('')
  }
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
