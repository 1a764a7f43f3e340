import type { Clock } from '@csi-sidecars/base'
import type { Backlog, Controller } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Recorder } from '@csi-sidecars/events'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Names } from './caches/names.ts'
import type { Caches } from './caches/open.ts'
import type { CapacityParts, CapacityRefresh } from './capacity/controller.ts'
import type { DriverCalls } from './claims/driver-calls.ts'
import type { ProvisionMetrics } from './metrics.ts'
import type { LocalNode } from './node/local-node.ts'
import type { NameRule } from './request/request.ts'

/** The settings of this process that decisions depend on. They never change. */
export interface ProvisionerSettings extends NameRule {
  readonly names: Names
  /** Written into each volume: the start of this process. */
  readonly identity: string
  /** The source of events. */
  readonly component: string
  /** The finalizer of claims whose volume may be in creation. */
  readonly claimFinalizer: string
  /** --finalize-claims. */
  readonly finalizeClaims: boolean
  readonly workers: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** The time limit of each call. */
  readonly timeoutMs: number
  readonly defaultFsType: string
  readonly extraMetadata: boolean
  readonly publishReadOnly: boolean
  /** The driver and the gate have topology. */
  readonly topology: boolean
  /** --prevent-volume-mode-conversion. */
  readonly preventModeConversion: boolean
  /** The pause between two sweeps of snapshots. 0: none. */
  readonly sweepMs: number
  /** How many deleted source claims are released at once. Undefined: the driver cannot clone. */
  readonly cloneReleaseWorkers: number | undefined
  readonly strictTopology: boolean
  readonly immediateTopology: boolean
  /** Undefined without --node-deployment. */
  readonly node: LocalNode | undefined
  /** The gate VolumeAttributesClass. */
  readonly attributesClasses: boolean
}

export interface ProvisionerParts {
  readonly settings: ProvisionerSettings
  readonly client: KubeClient
  readonly driver: Driver
  readonly caches: Caches
  readonly recorder: Recorder
  /** Writes the event about populators, which has a source of its own. */
  readonly populatorRecorder: Recorder
  readonly metrics: ProvisionMetrics
  /** Undefined without --enable-capacity. */
  readonly capacity: CapacityParts | undefined
  readonly backlog: Backlog
  readonly clock: Clock
  readonly log: Logger
}

/** The parts of one term. Without the lead they write nothing and call no driver. */
export interface TermParts extends Omit<ProvisionerParts, 'client' | 'driver' | 'caches'>, Caches {
  readonly refresh: CapacityRefresh | undefined
  readonly driver: DriverCalls
  readonly api: KubeClient
}

export function backoffOf({ retryStartMs, retryMaxMs }: ProvisionerSettings): Controller['backoff'] {
  return { baseMs: retryStartMs, maxMs: retryMaxMs }
}
