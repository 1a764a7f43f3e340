import type { Metrics } from '@csi-sidecars/telemetry'

/** The buckets of Prometheus' client for Go. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const
const BY_CLAIM = 'Broken down by storage class name and source of the claim.'
const BY_CLASS = 'Broken down by storage class name.'

export interface ClaimLabels {
  readonly class: string
  /** The kind of the data source. */
  readonly source: string
}

/** Numbers of created and deleted volumes, as dashboards of the Go original read them. */
export class ProvisionMetrics {
  readonly #created
  readonly #createFailed
  readonly #createSeconds
  readonly #deleted
  readonly #deleteFailed
  readonly #deleteSeconds

  constructor(metrics: Metrics) {
    const ofClaims = ['class', 'source'] as const
    const ofClasses = ['class'] as const
    const claims = 'controller_persistentvolumeclaim_provision'
    const volumes = 'controller_persistentvolume_delete'
    this.#created = metrics.counter({
      name: `${claims}_total`,
      help: `Total number of persistent volumes provisioned successfully. ${BY_CLAIM}`,
      labels: ofClaims,
    })
    this.#createFailed = metrics.counter({
      name: `${claims}_failed_total`,
      help: `Total number of persistent volume provision failed attempts. ${BY_CLAIM}`,
      labels: ofClaims,
    })
    this.#createSeconds = metrics.histogram({
      name: `${claims}_duration_seconds`,
      help: `Latency in seconds to provision persistent volumes. Failed provisioning attempts are ignored. ${BY_CLAIM}`,
      labels: ofClaims,
      buckets: BUCKETS,
    })
    this.#deleted = metrics.counter({
      name: `${volumes}_total`,
      help: `Total number of persistent volumes deleted successfully. ${BY_CLASS}`,
      labels: ofClasses,
    })
    this.#deleteFailed = metrics.counter({
      name: `${volumes}_failed_total`,
      help: `Total number of persistent volume delete failed attempts. ${BY_CLASS}`,
      labels: ofClasses,
    })
    this.#deleteSeconds = metrics.histogram({
      name: `${volumes}_duration_seconds`,
      help: `Latency in seconds to delete persistent volumes. Failed deletion attempts are ignored. ${BY_CLASS}`,
      labels: ofClasses,
      buckets: BUCKETS,
    })
  }

  created(labels: ClaimLabels, ms: number): void {
    this.#created.inc({ ...labels })
    this.#createSeconds.observe({ ...labels }, ms / 1000)
  }

  createFailed(labels: ClaimLabels): void {
    this.#createFailed.inc({ ...labels })
  }

  deleted(className: string, ms: number): void {
    this.#deleted.inc({ class: className })
    this.#deleteSeconds.observe({ class: className }, ms / 1000)
  }

  deleteFailed(className: string): void {
    this.#deleteFailed.inc({ class: className })
  }
}
