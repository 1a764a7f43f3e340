import type { Metrics } from '@csi-sidecars/telemetry'

/** The default histogram buckets of the Prometheus client for Go, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** The labels of the metrics about a claim. */
export interface ClaimLabels {
  readonly class: string
  /** The kind of the claim's data source. Empty if there is none. */
  readonly source: string
}

/** An operation on volumes. `name` begins its metric names; `verb`, `done` and `noun` are parts of help texts. */
interface Operation<L> {
  readonly name: string
  readonly labels: readonly L[]
  readonly verb: string
  readonly done: string
  readonly noun: string
}

/** The metrics of one operation: successes, failures and durations. */
class Counts<L extends string> {
  readonly #succeeded
  readonly #failed
  readonly #seconds

  constructor(metrics: Metrics, { name, labels, verb, done, noun }: Operation<L>) {
    const by = `Broken down by storage class name${labels.length > 1 ? ' and source of the claim' : ''}.`
    const help = `Total number of persistent volumes ${done} successfully. ${by}`
    this.#succeeded = metrics.counter({ name: `${name}_total`, help, labels })
    this.#failed = metrics.counter({
      name: `${name}_failed_total`,
      help: `Total number of persistent volume ${verb} failed attempts. ${by}`,
      labels,
    })
    this.#seconds = metrics.histogram({
      name: `${name}_duration_seconds`,
      help: `Latency in seconds to ${verb} persistent volumes. Failed ${noun} attempts are ignored. ${by}`,
      labels,
      buckets: BUCKETS,
    })
  }

  succeeded(labels: Readonly<Record<L, string>>, ms: number): void {
    this.#succeeded.inc(labels)
    this.#seconds.observe(labels, ms / 1000)
  }

  failed(labels: Readonly<Record<L, string>>): void {
    this.#failed.inc(labels)
  }
}

/** Metrics of created and deleted volumes, with the names and labels of the Go provisioner. */
export class ProvisionMetrics {
  readonly creations: Counts<keyof ClaimLabels>
  readonly deletions: Counts<'class'>

  constructor(metrics: Metrics) {
    this.creations = new Counts(metrics, {
      name: 'controller_persistentvolumeclaim_provision',
      labels: ['class', 'source'],
      verb: 'provision',
      done: 'provisioned',
      noun: 'provisioning',
    })
    this.deletions = new Counts(metrics, {
      name: 'controller_persistentvolume_delete',
      labels: ['class'],
      verb: 'delete',
      done: 'deleted',
      noun: 'deletion',
    })
  }
}
