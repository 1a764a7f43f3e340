import type { Clock } from '@csi-sidecars/base'
import type { Backlog, Controller, Lead } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Logger, LogStream, Metrics, Pairs } from '@csi-sidecars/telemetry'
import type { HandshakeTable } from '../driver/handshake-table.ts'
import type { FeatureGates } from '../flags/feature-gates.ts'
import type { GateTable } from '../flags/gate-tables.ts'
import type { Flags, FlagTable } from '../flags/go-flags.ts'
import type { STANDARD_FLAGS } from '../flags/standard-flags.ts'
import type { CacheRegistry } from '../serve/caches.ts'
import type { StopSignal } from '../serve/serve.ts'
import type { SentenceFailure } from './start-error.ts'

/** The process around an app. Tests replace it. */
export interface Host {
  /** How the program was called, for usage and --version. */
  readonly argv0: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly hostName: string
  /** Bytes that the control groups of the process grant; absent: not known. */
  readonly memoryLimit?: number
  readonly clock: Clock
  readonly stdout: { write(text: string): unknown }
  readonly stderr: LogStream
  /** Calls back for each SIGTERM and SIGINT until the returned function is called. */
  onSignal(listener: (signal: StopSignal) => void): () => void
  /** Writes the termination message for the kubelet. Rejects when it cannot. */
  writeTerminationMessage(message: string): Promise<void>
}

/** The standard flags and an app's own. */
export type AppFlags<T extends FlagTable> = readonly [...typeof STANDARD_FLAGS, ...T]

/** What users see of a start: its log messages, and the order of the steps where sidecars differ. */
export interface StartTable {
  /** The message of the line that ends the start, by its step. */
  readonly failures: {
    readonly gates: string | SentenceFailure
    readonly addresses: string
    readonly config: string | SentenceFailure
    readonly client: string | SentenceFailure
    readonly endpoint: string | SentenceFailure
  }
  /** The gates are checked before --version and the addresses, or after them. */
  readonly gatesFirst: boolean
  /** The line about gates that cannot be set has those that were given. */
  readonly logsGates: boolean
  /** The HTTP server is opened before the driver's capabilities are requested, or after that. */
  readonly endpointFirst: boolean
  /** Pairs of the line that names the driver. */
  readonly namePairs: (driverName: string) => Pairs
  /** Pairs of the lines about the start from then on. */
  readonly context: (driverName: string) => Pairs
}

/** The parts of a StartTable in which an app differs. */
export type StartOverrides = Partial<Omit<StartTable, 'failures'>> & {
  readonly failures?: Partial<StartTable['failures']>
}

/** The Lease of an app, as its Go original names it. */
export interface LeaseNames {
  /** Put before the driver's name: `external-attacher-leader-`. */
  readonly prefix: string
  /** Source of the Lease's events, before the host's name. */
  readonly component: (driverName: string) => string
}

/** The API server during the start. */
export interface StartServer {
  readonly client: KubeClient
  readonly log: Logger
  readonly signal: AbortSignal
}

/** What all apps of a process share. */
export interface SharedParts {
  readonly client: KubeClient
  readonly driver: Driver
  readonly caches: CacheRegistry
  readonly clock: Clock
  readonly metrics: Metrics
  /** The pending work of all controllers. */
  readonly backlog: Backlog
  readonly log: Logger
  /** For lines about the start. */
  readonly startLog: Logger
  /** Aborted when the process is asked to end before it has started. */
  readonly startSignal: AbortSignal
  readonly env: NodeJS.ProcessEnv
}

/** What an app's controllers are made of. */
export interface AppParts<T extends FlagTable, N extends string> extends SharedParts {
  readonly flags: Flags<AppFlags<T>>
  readonly gates: FeatureGates<N>
}

/** What an app runs. */
export interface AppControllers {
  /** The names of its queues, whose metrics a standby shows too. */
  readonly queues: readonly string[]
  /** Its controllers for one term. */
  readonly controllers: (lead: Lead) => readonly Controller[]
  /** Saves what is still to be reported at the end. Bounded by its signal. */
  readonly close?: (signal: AbortSignal) => Promise<void>
}

/** One sidecar as a value: what users see of it, and a function from shared parts to its controllers. */
export interface App<T extends FlagTable, N extends string = string> {
  readonly name: string
  /** Its name among several in one process: in --controllers and before its flags. */
  readonly prefix: string
  /** The Go original that it replaces, with the version: `external-attacher v4.13.0`. */
  readonly replaces: string
  /** Beside the standard ones. */
  readonly flags: T
  readonly gates: GateTable<N>
  readonly lease: LeaseNames
  /** Where it differs from DEFAULT_START. */
  readonly start?: StartOverrides
  /** URL of the API server that replaces the kubeconfig's; empty for none. */
  readonly master?: (flags: Flags<AppFlags<T>>) => string
  /** Why the command line is refused, when its flags contradict each other. */
  readonly contradiction?: (flags: Flags<AppFlags<T>>, env: NodeJS.ProcessEnv) => string | undefined
  /** Whether it runs on each node, without a leader: no other app that elects one may run beside it. */
  readonly onEachNode?: (flags: Flags<AppFlags<T>>) => boolean
  /** Checks flags that only the app can validate. Throws StartError. */
  readonly checkFlags?: (flags: Flags<AppFlags<T>>) => void
  /** The gates after the API server was asked what it supports. */
  readonly gatesOfServer?: (gates: FeatureGates<N>, server: StartServer) => Promise<FeatureGates<N>>
  /** Checks that the API server grants what the app cannot do without. Throws StartError. */
  readonly checkServer?: (flags: Flags<AppFlags<T>>, env: NodeJS.ProcessEnv, server: StartServer) => Promise<void>
  /** Where it differs from DEFAULT_HANDSHAKE. */
  readonly handshake?: (flags: Flags<AppFlags<T>>) => Partial<HandshakeTable>
  /** Selects by the driver's capabilities. Throws StartError when none of them applies. */
  readonly controllers: (parts: AppParts<T, N>) => AppControllers | Promise<AppControllers>
}
