import type { Sample } from './exposition.ts'

/** Values of some or all of a metric's labels; one that is left out is not printed, an empty one is. */
export type MetricLabels<L extends string> = Readonly<Partial<Record<L, string>>>

interface Series<S> {
  readonly labels: MetricLabels<string>
  readonly state: S
}

/** What a metric has recorded, for each combination of its labels' values. A metric without labels has one series. */
export class MetricSeries<S> {
  readonly #names: readonly string[]
  readonly #create: () => S
  readonly #series = new Map<string, Series<S>>()

  constructor(names: readonly string[], create: () => S) {
    this.#names = names
    this.#create = create
    if (names.length === 0) this.of({})
  }

  /** The state of a series, which begins now if there is none. */
  of(labels: MetricLabels<string>): S {
    const key = this.#keyOf(labels)
    const known = this.#series.get(key)
    if (known !== undefined) return known.state
    const state = this.#create()
    this.#series.set(key, { labels: this.#given(labels), state })
    return state
  }

  delete(labels: MetricLabels<string>): void {
    this.#series.delete(this.#keyOf(labels))
  }

  /** In the order in which the series began. */
  samples(read: (state: S, labels: MetricLabels<string>) => readonly Sample[]): readonly Sample[] {
    return [...this.#series.values()].flatMap(({ labels, state }) => read(state, labels))
  }

  /** With the length of each value, so that no two combinations have one key. */
  #keyOf(labels: MetricLabels<string>): string {
    let key = ''
    for (const name of this.#names) {
      const value = labels[name]
      key += value === undefined ? '-' : `${value.length}:${value}`
    }
    return key
  }

  #given(labels: MetricLabels<string>): MetricLabels<string> {
    return Object.fromEntries(
      this.#names.flatMap((name): [string, string][] => {
        const value = labels[name]
        return value === undefined ? [] : [[name, value]]
      }),
    )
  }
}

/** What was observed, by its size. */
export class Distribution {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  /** `bounds` are the upper ones, rising; one bucket is for what is above all of them. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    this.#sum += value
    this.#count += 1
    let at = 0
    for (const bound of this.#bounds) {
      if (value <= bound) break
      at += 1
    }
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  /** Each bucket counts what is in the smaller ones, too. */
  samples(name: string, labels: MetricLabels<string>): readonly Sample[] {
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
