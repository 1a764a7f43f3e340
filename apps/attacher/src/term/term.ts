import type { Clock } from '@csi-sidecars/base'
import type { Backlog } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { AttachingCaches } from '../caches/open.ts'
import type { EventPermission } from '../reporting/failure-reporter.ts'
import type { VolumeFinalizers } from '../volumes/volume-finalizers.ts'
import type { AttacherSettings } from './settings.ts'

/** The parts of the attacher that exist before its term. */
export interface AttacherDeps {
  readonly settings: AttacherSettings
  readonly client: KubeClient
  readonly driver: Driver
  readonly attachments: Informer<CachedAttachment, VolumeAttachment>
  /** The caches for attaches. Undefined for a driver that does not attach. */
  readonly attaching: AttachingCaches | undefined
  /** Remembers whether the API server accepts events. Undefined if no events are written. */
  readonly eventPermission?: EventPermission
  /** The pending work of this process. */
  readonly backlog: Backlog
  readonly clock: Clock
  readonly log: Logger
}

/** The dependencies of the controllers while this process leads. Afterwards they refuse all writes and calls. */
export interface AttacherTerm extends AttacherDeps, AttachingCaches {
  /** Adds our finalizer to volumes. Controllers share it, so no patch is sent twice. */
  readonly finalizers: VolumeFinalizers
  /** A client that refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly assertLeading: () => void
}
