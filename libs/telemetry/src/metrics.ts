import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, Registry } from 'prom-client'
import { type Family, familyText } from './exposition.ts'

/** Values of some or all of a metric's labels; one that is left out is not printed, an empty one is. */
export type Labels<L extends string> = Readonly<Partial<Record<L, string>>>

export interface MetricSpec<L extends string> {
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
}

export interface HistogramSpec<L extends string> extends MetricSpec<L> {
  /** Upper bounds, rising, without +Inf. Printed as Go prints them: 1e-8 is `le="1e-08"`. */
  readonly buckets: readonly number[]
}

export interface Counter<L extends string> {
  inc(labels?: Labels<L>, by?: number): void
}

export interface Gauge<L extends string> {
  set(labels: Labels<L>, value: number): void
  /** Takes the series away. */
  remove(labels: Labels<L>): void
}

export interface Histogram<L extends string> {
  observe(labels: Labels<L>, value: number): void
  /** Shows the series before anything was observed. */
  zero(labels: Labels<L>): void
}

/** A metric without labels whose value is somewhere else already and is read for each exposition. */
export interface ReadingSpec {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  /** Undefined leaves the metric out this time. Must not throw. */
  read(): number | undefined
}

/** A gauge whose series are somewhere else already and are read for each exposition. */
export interface SeriesSpec extends MetricSpec<string> {
  /** One for each combination of labels. Must not throw. */
  read(): Iterable<{ readonly labels: Labels<string>; readonly value: number }>
}

/** Sets gauges that are computed only when they are read. */
export type Collect = () => void | Promise<void>

/** The metrics of one process. Asking twice for a name gives the same metric, so that two queues share one family. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #families: { get(): Promise<Family> }[] = []
  readonly #counters = new Map<string, Counter<string>>()
  readonly #gauges = new Map<string, Gauge<string>>()
  readonly #histograms = new Map<string, Histogram<string>>()
  readonly #collectors = new Set<Collect>()

  counter<const L extends string>({ name, help, labels }: MetricSpec<L>): Counter<L> {
    let counter = this.#counters.get(name)
    if (counter === undefined) {
      const metric = new PromCounter<string>({ name, help, labelNames: [...labels], registers: [this.#registry] })
      counter = { inc: (values = {}, by = 1) => metric.inc(given(values), by) }
      this.#families.push(metric)
      this.#counters.set(name, counter)
    }
    return counter
  }

  gauge<const L extends string>({ name, help, labels }: MetricSpec<L>): Gauge<L> {
    let gauge = this.#gauges.get(name)
    if (gauge === undefined) {
      const metric = new PromGauge<string>({ name, help, labelNames: [...labels], registers: [this.#registry] })
      gauge = {
        set: (values, value) => metric.set(given(values), value),
        remove: (values) => metric.remove(given(values)),
      }
      this.#families.push(metric)
      this.#gauges.set(name, gauge)
    }
    return gauge
  }

  histogram<const L extends string>({ name, help, labels, buckets }: HistogramSpec<L>): Histogram<L> {
    let histogram = this.#histograms.get(name)
    if (histogram === undefined) {
      const options = { name, help, labelNames: [...labels], buckets: [...buckets], registers: [this.#registry] }
      const metric = new PromHistogram<string>(options)
      histogram = {
        observe: (values, value) => metric.observe(given(values), value),
        zero: (values) => metric.zero(given(values)),
      }
      this.#families.push(metric)
      this.#histograms.set(name, histogram)
    }
    return histogram
  }

  reading({ name, help, type, read }: ReadingSpec): void {
    const get = async (): Promise<Family> => {
      const value = read()
      return { name, help, type, values: value === undefined ? [] : [{ value, labels: {} }] }
    }
    this.#families.push({ get })
  }

  series({ name, help, read }: SeriesSpec): void {
    this.#families.push({ get: async () => ({ name, help, type: 'gauge', values: [...read()] }) })
  }

  /** Runs `collect` before each exposition, until the returned function is called. It must not throw. */
  onCollect(collect: Collect): () => void {
    this.#collectors.add(collect)
    return () => this.#collectors.delete(collect)
  }

  /** Everything in Prometheus' text format, by name; a family without a series yet is left out. */
  async text(): Promise<string> {
    for (const collect of this.#collectors) await collect()
    const families = await Promise.all(this.#families.map((metric) => metric.get()))
    families.sort((a, b) => (a.name < b.name ? -1 : 1))
    return families.map(familyText).join('')
  }
}

/** What `Metrics.text` is. */
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** A copy, because prom-client keeps its argument; without absent labels. */
function given(labels: Labels<string>): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(labels)) {
    if (value !== undefined) values[name] = value
  }
  return values
}
