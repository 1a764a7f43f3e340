import type { Clock } from '@csi-sidecars/base'
import type { Backlog, Controller } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Attachment } from '../caches/attachment.ts'
import type { AttachingCaches } from '../caches/open.ts'
import type { EventPermission } from '../reporting/failure-reporter.ts'
import type { VolumeFinalizers } from '../volumes/volume-finalizers.ts'

/** The finalizer that a driver's attacher puts on VolumeAttachments and PersistentVolumes. */
export function finalizerName(driverName: string): string {
  const sanitised = driverName.replace(/[^A-Za-z0-9-]/gu, '-')
  return `external-attacher/${sanitised}${sanitised.endsWith('-') ? 'X' : ''}`
}

/** The settings of this process that decisions depend on; the same for its whole life. */
export interface AttachSettings {
  readonly driverName: string
  readonly finalizer: string
  readonly defaultFsType: string
  /** --recover-lost-volumes. */
  readonly recoverLostVolumes: boolean
}

export interface AttacherSettings extends AttachSettings {
  readonly workers: number
  readonly maxInflightPerNode: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** Limit of one publish, unpublish or page of ListVolumes. */
  readonly timeoutMs: number
  readonly maxEntries: number
  readonly comparisonPeriodMs: number
  readonly confirmations: number
  readonly recordErrorCode: boolean
}

export interface AttacherParts {
  readonly settings: AttacherSettings
  readonly client: KubeClient
  readonly driver: Driver
  readonly attachments: Informer<Attachment, VolumeAttachment>
  /** Undefined for a driver that has no attach: its attachments are only marked as attached. */
  readonly attaching: AttachingCaches | undefined
  /** Whether events may be written. Undefined where none are. */
  readonly eventPermission?: EventPermission
  /** What is pending in this process. */
  readonly backlog: Backlog
  readonly clock: Clock
  readonly log: Logger
}

/** What the controllers of one term are made of. Nothing is written, and no driver called, without the lead. */
export interface TermParts extends AttacherParts, AttachingCaches {
  /** Adds our finalizer to volumes, for whichever controller needs it there. */
  readonly finalizers: VolumeFinalizers
  /** Refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly assertLeading: () => void
}

/** What both kinds of attachment controllers say of themselves. */
export function lifecycleLogs(log: Logger): Pick<Controller, 'onStart' | 'onEnd'> {
  return { onStart: () => log.info('Starting CSI attacher'), onEnd: () => log.info('Shutting CSI attacher') }
}

export function backoffOf({ retryStartMs, retryMaxMs }: AttacherSettings): Controller['backoff'] {
  return { baseMs: retryStartMs, maxMs: retryMaxMs }
}
