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
import { StoredAttachment } from './stored-attachment.ts'
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
  readonly attachments: Pick<Informer<CachedAttachment, VolumeAttachment>, 'storeAnswer' | 'store'>
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

/** One run of the reconciler for one attachment. */
export interface AttachmentRun extends Run<AttachmentWakeKind> {
  readonly key: string
  readonly deps: AttachmentDeps
  /** The logger with the name of the attachment. */
  readonly log: Logger
  /** The state that this run has observed. */
  readonly va: CachedAttachment
  /** The stored object, with the states that this run has read and written. */
  readonly stored: StoredAttachment
}

export function newRun(
  va: CachedAttachment,
  deps: AttachmentDeps,
  controllerRun: Run<AttachmentWakeKind>,
): AttachmentRun {
  const stored = new StoredAttachment(va, { ...deps, signal: controllerRun.signal })
  return { ...controllerRun, key: va.key, deps, log: deps.log.with({ VolumeAttachment: va.key }), va, stored }
}
