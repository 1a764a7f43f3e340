import type { Clock } from '@csi-sidecars/base'
import type { AnyController, Backlog, Lead } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Logger, Metrics } from '@csi-sidecars/telemetry'
import type { HandshakeTable } from './driver/handshake-table.ts'
import type { UsedStandardFlags } from './flags/combined-flags.ts'
import type { FeatureGates, GateTable } from './flags/feature-gates.ts'
import type { Flags, FlagTable } from './flags/go-flags.ts'
import type { STANDARD_FLAGS } from './flags/standard-flags.ts'
import type { StartContext } from './process.ts'
import type { CacheRegistry } from './serve/caches.ts'
import type { SentenceFailure, StartError } from './start-error.ts'
import type { UnreferencedReport } from './unreferenced/report.ts'

/** The values of the standard flags and of an app's own flags. */
export type AppFlags<T extends FlagTable = FlagTable> = Flags<readonly [...typeof STANDARD_FLAGS, ...T]>

/**
 * Describes one sidecar: the facts that users see, and the functions that the start of the process calls.
 *
 * Guarantees: `main` calls `configure`, then `adaptGatesToServer`, then `controllers`, once each. Several apps in one process
 * share the client, the driver and the caches; each app has its own flags, gates and Lease.
 *
 * Caveats: `adaptGatesToServer` and `controllers` run on every replica, leader or not. Only controllers of a leader may write.
 *
 * Errors: a `StartError` ends the start with one log line and its exit code. Any other error counts as a bug.
 */
export interface App<T extends FlagTable = FlagTable, N extends string = string> {
  /** The name of the executable, such as `csi-attacher`. */
  readonly name: string
  /** The name in --controllers and before the flags of the app, such as `attacher`. */
  readonly prefix: string
  /** The Go sidecar that the app replaces, with its version, such as `external-attacher v4.13.0`. */
  readonly replaces: string
  /** The flags of the app, in addition to the standard flags. */
  readonly flags: T
  readonly gates: GateTable<N>
  /** The Lease is named `prefix` plus the driver's name. Its Events come from `component`. */
  readonly lease: { readonly prefix: string; readonly component: (driverName: string) => string }
  /** The log messages and the order of a start. Defaults: those of `DEFAULT_START`. */
  readonly start?: Partial<StartTable>
  /** Derives settings from the command line, before the log is open. Default: none. */
  configure?(flags: AppFlags<T>, env: NodeJS.ProcessEnv): AppSettings
  /** Asks the API server for its features. Returns changed gates. Undefined: no change. */
  adaptGatesToServer?(
    server: Pick<AppParts<T, N>, 'client' | 'log' | 'env' | 'signal' | 'flags' | 'gates'>,
  ): Promise<FeatureGates<N> | undefined>
  /** Chooses the controllers by the driver's capabilities. Throws StartError if none of them applies. */
  controllers(app: AppParts<T, N>): AppControllers | Promise<AppControllers>
}

/** The settings that follow from an app's command line. */
export interface AppSettings {
  /** The error of contradictory flags. The process prints it and ends with code 2. */
  readonly flagConflict?: string | undefined
  /** The errors of the command line, by the step of the start that they prevent. An error ends the process. */
  readonly errorsBeforeStep?: Readonly<Partial<Record<'version' | 'apiConfig' | 'apiClient', StartError | undefined>>>
  /** The URL of the API server, instead of the kubeconfig's. Default: empty, without effect. */
  readonly master?: string
  /** The path of a kubeconfig file, instead of --kubeconfig. Default: empty, without effect. */
  readonly kubeconfig?: string
  /**
   * True: the app runs on each node without a leader, so no app that elects a leader may run in the same process.
   * Default: false.
   */
  readonly onEachNode?: boolean
  /** True: a page at /debug/pprof/ says that no profiles exist. Default: false. */
  readonly profilesPage?: boolean
  /** The parts of the handshake with the driver that differ from `DEFAULT_HANDSHAKE`. */
  readonly handshake?: Partial<HandshakeTable>
}

/** The syntax of the command line, the log messages of a start, and the order of steps that differ between sidecars. */
export interface StartTable {
  /** The Go package whose rules the command line follows. Several apps: `flag`. */
  readonly flagSyntax: 'flag' | 'pflag'
  /** The message of the log line that ends a failed start, for each step. */
  readonly gatesFailed: string | SentenceFailure
  /** The error if both --metrics-address and --http-endpoint are set. Undefined: only the app itself checks this. */
  readonly bothAddressesError: string | SentenceFailure | undefined
  readonly configFailed: string | SentenceFailure
  readonly clientFailed: string | SentenceFailure
  readonly endpointFailed: string | SentenceFailure
  /** True: feature gates are checked before --version and the address flags. False: afterwards. */
  readonly checksGatesBeforeVersion: boolean
  /** True: the log line about an invalid feature gate lists all set gates. */
  readonly logsRequestedGates: boolean
  /** True: the HTTP server opens before the capabilities of the driver are read. */
  readonly opensServerBeforeHandshake: boolean
  /** True: SIGINT ends a started process with exit code 0 if it neither elects a leader nor drains work. */
  readonly exitsWithZeroOnSigint: boolean
  /** True: all log lines of the start contain the driver's name once it is known. False: only one line contains it. */
  readonly startLogNamesDriver: boolean
}

/** Everything from which an app creates its controllers. Apps share all objects but `flags`, `gates` and `log`. */
export interface AppParts<T extends FlagTable = FlagTable, N extends string = string> {
  readonly flags: AppFlags<T>
  readonly gates: FeatureGates<N>
  readonly client: KubeClient
  readonly driver: Driver
  readonly caches: CacheRegistry
  readonly clock: Clock
  readonly metrics: Metrics
  /** The pending work of all controllers. */
  readonly backlog: Backlog
  /** The things in the back end that no object names. */
  readonly unreferenced: UnreferencedReport
  readonly log: Logger
  /** The log for lines about the start. */
  readonly startLog: Logger
  readonly env: NodeJS.ProcessEnv
  readonly hostName: string
  /** Aborted if a signal ends the process during its start. */
  readonly signal: AbortSignal
}

/** The controllers of an app for the connected driver. */
export interface AppControllers {
  /** The names of the controllers' queues. A standby exposes their metrics, too. */
  readonly queues: readonly string[]
  /** Creates the controllers of one term, the time in which the process leads. */
  readonly controllers: (lead: Lead) => readonly AnyController[]
  /** Saves pending reports, such as Kubernetes Events, when the process ends. Must stop when `signal` is aborted. */
  readonly close?: (signal: AbortSignal) => Promise<void>
}

/**
 * A sidecar that calls only the driver. It needs no API server and no Lease, has no executable of its own, and works
 * until the process ends.
 *
 * Guarantees: `open` is called once, at the same time as the start of the controllers, and does not wait for them.
 *
 * Errors: a `StartError` of `open` ends the start of the whole process.
 */
export interface DriverApp<T extends FlagTable = FlagTable> {
  readonly name: string
  /** The name in --controllers and before the flags of the app. */
  readonly prefix: string
  /** The Go sidecar that the app replaces, with its version. */
  readonly replaces: string
  /** The flags of the app, in addition to the standard flags. */
  readonly flags: T
  /** The standard flags that the app accepts. */
  readonly usedStandardFlags: UsedStandardFlags
  /** The log message about this app if a process that also runs controllers ends with an error. */
  readonly endingNotice: string
  /** Resolves once the app works. Throws StartError. */
  open(app: DriverAppParts<T>): Promise<void>
}

/** The flags of an app that asks only the driver. */
export interface DriverAppParts<T extends FlagTable = FlagTable>
  extends Pick<StartContext, 'clock' | 'log' | 'signal' | 'atEnd'> {
  readonly flags: AppFlags<T>
  /** True if no other app runs in the process. */
  readonly isOnlyApp: boolean
}

/** Throws the first error that an app reports for this step of the start. Must be called right before the step. */
export function throwErrorBefore(
  step: keyof NonNullable<AppSettings['errorsBeforeStep']>,
  sidecars: readonly { readonly settings: AppSettings }[],
): void {
  for (const { settings } of sidecars) {
    const error = settings.errorsBeforeStep?.[step]
    if (error !== undefined) throw error
  }
}
