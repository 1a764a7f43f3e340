import { CSI_OPERATIONS_SECONDS, type Histogram, type Metrics } from '@csi-sidecars/telemetry'

type Label = (typeof CSI_OPERATIONS_SECONDS.labels)[number]

interface Observation {
  readonly labels: Readonly<Partial<Record<Label, string>>>
  readonly seconds: number
}

/** The code in the metric for a call that failed without a gRPC status. */
export const NOT_GRPC = 'unknown-non-grpc'

const UNKNOWN_DRIVER = 'unknown-driver'

/** The largest number of calls that are kept until the name of the driver is known. Later calls are not counted. */
const MAX_BUFFERED_CALLS = 1000

/**
 * The metric `csi_sidecar_operations_seconds`. It keeps calls until the name of the driver is known, and then counts
 * them under `unknown-driver`. If the driver has replaced an in-tree plugin, the metric drops these calls, and labels
 * later calls `migrated`.
 */
export class OperationMetrics {
  readonly #histogram: Histogram<Label>
  #buffered: Observation[] | undefined = []
  #driverName = UNKNOWN_DRIVER
  #withMigrated = false

  constructor(metrics: Metrics) {
    this.#histogram = metrics.histogram(CSI_OPERATIONS_SECONDS)
  }

  /** Sets the driver's name for later calls. Earlier calls count under `unknown-driver`. */
  setDriverName(name: string): void {
    this.#driverName = name
    const buffered = this.#buffered ?? []
    this.#buffered = undefined
    for (const { labels, seconds } of buffered) this.#histogram.observe(labels, seconds)
  }

  /**
   * Drops the earlier calls and counts later calls with the label `migrated`, for drivers that replace an in-tree
   * plugin.
   */
  restartWithMigrated(name: string): void {
    this.#driverName = name
    this.#withMigrated = true
    this.#buffered = undefined
  }

  observe(method: string, call: { code: string; seconds: number; migrated: boolean }): void {
    const labels = {
      driver_name: this.#driverName,
      method_name: method,
      grpc_status_code: call.code,
      ...(this.#withMigrated && { migrated: String(call.migrated) }),
    }
    if (this.#buffered === undefined) this.#histogram.observe(labels, call.seconds)
    else if (this.#buffered.length < MAX_BUFFERED_CALLS) this.#buffered.push({ labels, seconds: call.seconds })
  }
}
