import type { Clock } from '@csi-sidecars/base'
import type { Backlog, Controller } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Recorder } from '@csi-sidecars/events'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { UnreferencedReport } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ProvisionerCaches } from './caches/open.ts'
import type { CapacityRefresh } from './capacity/controller.ts'
import type { CapacityParts } from './capacity/run.ts'
import type { DriverCalls } from './driver-calls.ts'
import type { ProvisionMetrics } from './metrics.ts'
import type { LocalNode } from './node/local-node.ts'
import type { VolumeSettings } from './request/persistent-volume.ts'
import type { NameRule } from './request/request.ts'
import type { SourceUses } from './sources/uses.ts'

/** The name of this sidecar in reports of pending work. It is the name of the Go provisioner. */
export const SIDECAR = 'external-provisioner'

/** The settings of this process that decisions depend on. They never change. */
export interface ProvisionerSettings extends NameRule, VolumeSettings {
  /** The `component` in the source of Events. */
  readonly component: string
  /** The finalizer of claims for which a CreateVolume call may be running. */
  readonly claimFinalizer: string
  readonly finalizeClaims: boolean
  readonly workers: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** The time limit of each call to the driver, in milliseconds. */
  readonly timeoutMs: number
  readonly defaultFsType: string
  readonly extraMetadata: boolean
  /** True if the parameters of classes may have variables. */
  readonly parameterTemplates: boolean
  readonly preventModeConversion: boolean
  /** Milliseconds between two searches for leftover finalizers of snapshots. 0: no searches. */
  readonly sweepMs: number
  /** The number of workers that remove finalizers from deleted source claims. Undefined if the driver cannot clone. */
  readonly cloneReleaseWorkers: number | undefined
  readonly strictTopology: boolean
  readonly immediateTopology: boolean
  /** Milliseconds between two searches for volumes that no object names. 0: no searches. */
  readonly unreferencedIntervalMs: number
  /** The text in the handles of this cluster's volumes. Empty: all volumes of the back end count. */
  readonly unreferencedHandleFilter: string
  /** The node of this process. Undefined without `--node-deployment`. */
  readonly node: LocalNode | undefined
}

/** Everything that the provisioner opens before its first term. */
export interface ProvisionerParts {
  readonly settings: ProvisionerSettings
  readonly client: KubeClient
  readonly driver: Driver
  readonly caches: ProvisionerCaches
  readonly recorder: Recorder
  /** Records the event that a volume populator creates the volume, as the component `external-provisioner`. */
  readonly populatorRecorder: Recorder
  readonly metrics: ProvisionMetrics
  /** The publication of CSIStorageCapacity objects. Undefined without `--enable-capacity`. */
  readonly capacity: CapacityParts | undefined
  readonly backlog: Backlog
  readonly unreferenced: UnreferencedReport
  readonly clock: Clock
  readonly log: Logger
}

/** The dependencies of the controllers. After the lease is lost, they refuse writes and calls to the driver. */
export interface TermParts extends Omit<ProvisionerParts, 'client' | 'driver' | 'caches'>, ProvisionerCaches {
  readonly refresh: CapacityRefresh | undefined
  readonly uses: SourceUses
  readonly driver: DriverCalls
  readonly api: KubeClient
}

export function backoffOf({ retryStartMs, retryMaxMs }: ProvisionerSettings): Controller['backoff'] {
  return { baseMs: retryStartMs, maxMs: retryMaxMs }
}
