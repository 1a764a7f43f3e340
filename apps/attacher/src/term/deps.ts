import type { Clock } from '@csi-sidecars/base'
import type { Backlog, Controller } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { AttachingCaches } from '../caches/open.ts'
import type { EventPermission } from '../reporting/failure-reporter.ts'
import type { VolumeFinalizers } from '../volumes/volume-finalizers.ts'

/** Returns the finalizer that the attacher of a driver sets on VolumeAttachments and PersistentVolumes. */
export function finalizerName(driverName: string): string {
  const sanitised = driverName.replace(/[^A-Za-z0-9-]/gu, '-')
  return `external-attacher/${sanitised}${sanitised.endsWith('-') ? 'X' : ''}`
}

/** The settings that decisions depend on. They never change during the life of the process. */
export interface AttachSettings {
  readonly driverName: string
  readonly finalizer: string
  readonly defaultFsType: string
  /** The flag `--recover-lost-volumes`. */
  readonly recoverLostVolumes: boolean
}

export interface AttacherSettings extends AttachSettings {
  readonly workers: number
  readonly maxInflightPerNode: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** The deadline of one publish, unpublish, or page of ListVolumes. */
  readonly timeoutMs: number
  readonly maxEntries: number
  readonly comparisonPeriodMs: number
  readonly confirmations: number
  readonly recordErrorCode: boolean
}

export interface AttacherDeps {
  readonly settings: AttacherSettings
  readonly client: KubeClient
  readonly driver: Driver
  readonly attachments: Informer<CachedAttachment, VolumeAttachment>
  /** Undefined for a driver without attach: its attachments are only marked as attached. */
  readonly attaching: AttachingCaches | undefined
  /** The permission to write events. Undefined if no events are written. */
  readonly eventPermission?: EventPermission
  /** The pending work of this process. */
  readonly backlog: Backlog
  readonly clock: Clock
  readonly log: Logger
}

/** The dependencies of the controllers of one term as leader. They refuse writes and calls without the lead. */
export interface AttacherTerm extends AttacherDeps, AttachingCaches {
  /** The controllers share it, so that they share its writes. */
  readonly finalizers: VolumeFinalizers
  /** The client refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly assertLeading: () => void
}

/** Returns the log lines of both kinds of attachment controllers. */
export function lifecycleLogs(log: Logger): Pick<Controller, 'onStart' | 'onEnd'> {
  return { onStart: () => log.info('Starting CSI attacher'), onEnd: () => log.info('Shutting CSI attacher') }
}

export function backoffOf({ retryStartMs, retryMaxMs }: AttacherSettings): Controller['backoff'] {
  return { baseMs: retryStartMs, maxMs: retryMaxMs }
}
