import type { Run } from '@csi-sidecars/controller'
import type { Logger } from '@csi-sidecars/telemetry'
import type { TermParts } from '../parts.ts'
import type { AttachedVolumes } from './attached.ts'
import type { VolumeMemory } from './memory.ts'

/** The dependencies of the controller of PersistentVolumes. */
export interface VolumeDeps extends TermParts {
  readonly memory: VolumeMemory
  /** The attached volumes. Undefined if the driver does not support ControllerPublishVolume. */
  readonly attached: AttachedVolumes | undefined
}

/** A released volume waits for the deletion of its VolumeAttachment, and for the CreateVolume calls that clone it. */
export type VolumeWakeKind = 'attachment' | 'endOfUse'

/** The dependencies of one run of the reconciler for one PersistentVolume. */
export interface VolumeRun extends Pick<Run<VolumeWakeKind>, 'signal' | 'waitFor' | 'stopWaiting'> {
  readonly deps: VolumeDeps
  readonly log: Logger
}
