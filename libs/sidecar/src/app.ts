import type { Clock } from '@csi-sidecars/base'
import type { Backlog, Controller, Lead } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Logger, LogStream, Metrics, Pairs } from '@csi-sidecars/telemetry'
import type { CacheRegistry } from './caches.ts'
import type { FeatureGates } from './feature-gates.ts'
import type { GateTable } from './gate-tables.ts'
import type { Flags, FlagTable } from './go-flags.ts'
import type { HandshakeTable } from './handshake.ts'
import type { StopSignal } from './serve.ts'
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

/** What users see of a start: what its lines say, and in which order the steps come where sidecars differ. */
export interface StartTable {
  /** The message of the line that ends the start, by its step. */
  readonly failures: {
    readonly gates: string
    readonly addresses: string
    readonly config: string
    readonly client: string
    readonly endpoint: string
  }
  /** The gates are looked at before --version and the addresses, or after them. */
  readonly gatesFirst: boolean
  /** The line about gates that cannot be set has those that were given. */
  readonly logsGates: boolean
  /** The HTTP server is opened before the driver is asked for its capabilities, or after that. */
  readonly endpointFirst: boolean
  /** Pairs of the line that names the driver. */
  readonly namePairs: (driverName: string) => Pairs
  /** Pairs of the lines about the start from then on. */
  readonly context: (driverName: string) => Pairs
}

/** The Lease that an app stands for, as its Go original names it. */
export interface LeaseNames {
  /** Put before the driver's name: `external-attacher-leader-`. */
  readonly prefix: string
  /** Source of the Lease's events, before the host's name. */
  readonly component: (driverName: string) => string
}

/** What all apps of a process share. */
export interface SharedParts {
  readonly client: KubeClient
  readonly driver: Driver
  readonly caches: CacheRegistry
  readonly clock: Clock
  readonly metrics: Metrics
  /** What is pending, of all its controllers. */
  readonly backlog: Backlog
  readonly log: Logger
  /** For what is said of the start. */
  readonly startLog: Logger
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
  /** Saves what is still to be reported when all is over. Bounded by its signal. */
  readonly close?: (signal: AbortSignal) => Promise<void>
}

/** One sidecar as a value: what users see of it, and the way from shared parts to its controllers. */
export interface App<T extends FlagTable, N extends string = string> {
  readonly name: string
  /** Stands for it among several in one process, in --controllers and before its flags. */
  readonly prefix: string
  /** The Go original whose place it takes, with the version: `external-attacher v4.13.0`. */
  readonly replaces: string
  /** Beside the standard ones. */
  readonly flags: T
  readonly gates: GateTable<N>
  readonly lease: LeaseNames
  readonly start: StartTable
  /** URL of the API server that takes the place of the kubeconfig's; empty for none. */
  readonly master?: (flags: Flags<AppFlags<T>>) => string
  /** Looks at flags that cannot be wrong by themselves. Throws StartError. */
  readonly checkFlags?: (flags: Flags<AppFlags<T>>) => void
  /** The gates as they stand once the server's own knowledge is taken into account. */
  readonly gatesOfServer?: (
    gates: FeatureGates<N>,
    server: { readonly client: KubeClient; readonly log: Logger; readonly signal: AbortSignal },
  ) => Promise<FeatureGates<N>>
  readonly handshake: (flags: Flags<AppFlags<T>>) => HandshakeTable
  /** Chooses by what the driver can do. Throws StartError when there is nothing to do for it. */
  readonly controllers: (parts: AppParts<T, N>) => AppControllers
}
