import type { Clock } from '@csi-sidecars/base'
import type { Logger, LogStream, Metrics } from '@csi-sidecars/telemetry'
import type { GateTable } from './gate-tables.ts'
import type { Flags, FlagTable } from './go-flags.ts'
import type { StopSignal } from './serve.ts'
import type { Service } from './service.ts'
import type { STANDARD_FLAGS } from './standard-flags.ts'

/** The process around an app, as far as an app may know it. Tests give another one. */
export interface Host {
  /** How the program was called, for usage and --version. */
  readonly argv0: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly hostName: string
  readonly clock: Clock
  readonly stdout: { write(text: string): unknown }
  readonly stderr: LogStream
  /** Calls back for each SIGTERM and SIGINT until the returned function is called. */
  onSignal(listener: (signal: StopSignal) => void): () => void
  /** Leaves a last word where the kubelet finds it. Rejects when it cannot. */
  writeTerminationMessage(message: string): Promise<void>
}

/** The standard flags and an app's own. */
export type AppFlags<T extends FlagTable> = readonly [...typeof STANDARD_FLAGS, ...T]

/** What an app's start is given once its flags are read and its log is open. */
export interface Boot<T extends FlagTable> {
  /** The app's. */
  readonly name: string
  readonly host: Host
  readonly flags: Flags<AppFlags<T>>
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly version: string
  /** Aborted when the process is asked to end before it has started. */
  readonly signal: AbortSignal
  /** Has something closed when all is over, also after a start that failed; the last one first. */
  readonly atEnd: (close: () => void) => void
}

/** One sidecar: a name, a flag table, and the way from flags to a running service. */
export interface App<T extends FlagTable> {
  readonly name: string
  /** Beside the standard ones. */
  readonly flags: T
  /** The feature gates that its usage names. */
  readonly gates: GateTable
  /** The steps of the start in the order of the contract. Throws StartError or Answered. */
  readonly start: (boot: Boot<T>) => Promise<Started>
}

export interface Started {
  readonly service: Service
  /** Gate ReleaseLeaderElectionOnExit. */
  readonly release: boolean
  /** The log with what the start has added to its context. */
  readonly log: Logger
}
