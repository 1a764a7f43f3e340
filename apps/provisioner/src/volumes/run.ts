import type { Clock } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import type { Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Names } from '../caches/names.ts'
import type { Caches } from '../caches/open.ts'
import type { Volume } from '../caches/volume.ts'
import type { CapacityRefresh } from '../capacity/controller.ts'
import type { DriverCalls } from '../claims/driver-calls.ts'
import type { ProvisionMetrics } from '../metrics.ts'
import type { LocalNode } from '../node/local-node.ts'
import type { VolumeMemory } from './memory.ts'

export interface VolumeDeps {
  readonly api: KubeClient
  readonly volumes: Pick<Informer<Volume, PersistentVolume>, 'learn' | 'store'>
  readonly classes: Pick<Caches['classes'], 'store'>
  readonly attachments: Pick<NonNullable<Caches['attachments']>, 'store'> | undefined
  readonly driver: DriverCalls
  readonly names: Names
  /** Undefined without --node-deployment. */
  readonly node: LocalNode | undefined
  readonly memory: VolumeMemory
  readonly recorder: Pick<Recorder, 'event'>
  readonly metrics: ProvisionMetrics
  readonly refresh: CapacityRefresh | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** One run over one PersistentVolume. */
export interface VolumeRun extends Pick<Run, 'signal' | 'waitFor'> {
  readonly deps: VolumeDeps
  readonly log: Logger
}
