import type { Clock } from '@csi-sidecars/base'
import type { Logger, Metrics, RunContexts } from '@csi-sidecars/telemetry'
import type { RunTracer } from '@csi-sidecars/telemetry/tracing'
import type { Host } from './app.ts'
import type { StandardFlags } from './start-checks.ts'

/** What the steps of a start share once the flags are read and the log is open. */
export interface StartContext {
  /** The program's. */
  readonly name: string
  readonly host: Host
  /** The flags that concern the process. */
  readonly standard: StandardFlags
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly version: string
  /** Identifies runs; undefined where neither log lines nor traces need it. */
  readonly runs?: RunContexts | undefined
  /** Undefined without tracing, and until it is opened. */
  readonly tracer?: RunTracer | undefined
  /** Aborted when the process is asked to end before it has started. */
  readonly signal: AbortSignal
  /** Registers what must be closed when the process ends, also after a start that failed; the last one first. */
  readonly atEnd: (close: () => void) => void
}
