import type { Clock } from '@csi-sidecars/base'
import type { Run } from '@csi-sidecars/controller'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import type { Informer, Reader } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import type { VolumeFinalizers } from '../volumes/volume-finalizers.ts'
import type { AttachmentMemory } from './memory.ts'
import type { ObserveAttachment } from './observe.ts'
import type { AttachmentWakeEvent, AttachmentWakeKind } from './wake-events.ts'

/** How ControllerPublishVolume and ControllerUnpublishVolume are sent. */
export interface PublishCallOptions {
  readonly migrated: boolean
  readonly signal: AbortSignal
  /** The logger with the name of the attachment. */
  readonly log: Logger
}

/** The calls ControllerPublishVolume and ControllerUnpublishVolume. Each has the deadline of `--timeout`. */
export interface PublishClient {
  publish(
    request: ControllerPublishVolumeRequest,
    options: PublishCallOptions,
  ): Promise<Readonly<Record<string, string>>>
  unpublish(request: ControllerUnpublishVolumeRequest, options: PublishCallOptions): Promise<void>
  /** True while the driver is disconnected. */
  readonly lost: boolean
}

/** Everything that the runs of a VolumeAttachment share during one term. */
export interface AttachmentDeps {
  /** A client that refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly driver: PublishClient
  readonly attachments: Pick<Informer<CachedAttachment, VolumeAttachment>, 'storeOwnWrite' | 'store'>
  readonly volumes: Pick<Reader<CachedVolume>, 'get'>
  readonly finalizers: VolumeFinalizers
  readonly finalizer: string
  readonly memory: AttachmentMemory
  readonly observe: ObserveAttachment
  /** Reports whether the queue would still choose the same lane and groups. */
  readonly placementUnchanged: (key: string) => boolean
  /** Runs the keys that wait for the event. */
  readonly wake: (event: AttachmentWakeEvent<'unpublish'>) => void
  readonly enqueue: (key: string) => void
  /** The feature gate `MutableCSINodeAllocatableCount`: error codes of the driver are stored in the status. */
  readonly recordErrorCode: boolean
  readonly clock: Clock
  readonly log: Logger
}

/**
 * One run over one attachment. `va` is the state that this run has observed or written. `newest` returns the newest
 * known state.
 */
export interface AttachmentRun extends Run<AttachmentWakeKind> {
  readonly key: string
  readonly deps: AttachmentDeps
  readonly log: Logger
  va: CachedAttachment
}
