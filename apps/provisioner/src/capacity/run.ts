import type { Clock, TokenBucket } from '@csi-sidecars/base'
import type { Controller, Run } from '@csi-sidecars/controller'
import type { GetCapacityResponse } from '@csi-sidecars/csi-proto'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { CSIStorageCapacity } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ProvisionerCaches } from '../caches/open.ts'
import type { CapacityItems, SegmentSource, Segments } from './items.ts'
import type { CapacityObject, CapacitySettings } from './object.ts'

/** Asks the driver for its capacity for volumes with these parameters in this topology. */
export type GetCapacity = (
  question: { readonly parameters: Readonly<Record<string, string>>; readonly segments: Segments },
  signal: AbortSignal,
) => Promise<GetCapacityResponse>

/** The parts of the publication that outlive a term as leader. */
export interface CapacityParts {
  readonly settings: CapacitySettings
  readonly items: CapacityItems
  readonly objects: Informer<CapacityObject, CSIStorageCapacity>
  readonly segments: SegmentSource
}

/** The dependencies of the controllers of CSIStorageCapacity objects. */
export interface CapacityDeps extends CapacityParts {
  readonly api: KubeClient
  readonly classes: ProvisionerCaches['classes']
  readonly backoff: Controller['backoff']
  readonly getCapacity: GetCapacity
  readonly clock: Clock
  readonly log: Logger
}

/** The dependencies of one run for one class and topology segment. */
export interface CapacityRun extends Pick<Run, 'signal'> {
  readonly deps: CapacityDeps
  /** Limits the rate of writes. Undefined if no flag sets the rate. */
  readonly bucket: TokenBucket | undefined
}
