import { type Clock, exponential } from '@csi-sidecars/base'
import type { Backlog, Controller, Outcome, Source } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
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
  /** The caches for attaches. Undefined if the driver cannot attach: attachments are only marked as attached. */
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
  /** Adds our finalizer to volumes. All controllers share it, so that they do not send the same patch twice. */
  readonly finalizers: VolumeFinalizers
  /** A client that refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly assertLeading: () => void
}

export function lifecycleLogs(log: Logger): Pick<Controller, 'onStart' | 'onEnd'> {
  return { onStart: () => log.info('Starting CSI attacher'), onEnd: () => log.info('Shutting CSI attacher') }
}

export function backoffOf({ retryStartMs, retryMaxMs }: AttacherSettings): Controller['backoff'] {
  return { baseMs: retryStartMs, maxMs: retryMaxMs }
}

/**
 * A write of ours that another writer has undone. We repeat it at once the first time. If a controller or an admission
 * policy undoes it again and again, our pause doubles each time.
 */
export interface UndoneWrite {
  readonly repeats: number
  /** The earliest time at which the write is repeated, in monotonic milliseconds. */
  readonly until: number
}

interface UndoneOptions {
  readonly backoff: Controller['backoff']
  readonly clock: Clock
}

/** Records that another writer has undone our write. Counts from zero if the last record is older than any back-off. */
export function undoneAgain(last: UndoneWrite | undefined, { backoff, clock }: UndoneOptions): UndoneWrite {
  const { baseMs, maxMs } = backoff
  const now = clock.monotonic()
  const repeats = last !== undefined && now <= last.until + maxMs ? last.repeats + 1 : 0
  const pauseMs = repeats === 0 ? 0 : exponential({ initialMs: baseMs, maxMs }, repeats - 1)
  return { repeats, until: now + pauseMs }
}

/** Returns the milliseconds until the write may be repeated; 0 if it may be repeated at once. */
export function undoneWaitMs(undone: UndoneWrite | undefined, clock: Clock): number {
  return undone === undefined ? 0 : Math.max(0, undone.until - clock.monotonic())
}

export type UpdateEvent<T> = InformerEvent<T> & { readonly type: 'updated' }

/** Calls `onUndone` if another writer undoes our write. List this source before sources that enqueue the object. */
export function undoneBy<T>(
  informer: Pick<Informer<T, never>, 'subscribe'>,
  isUndone: (event: UpdateEvent<T>) => boolean,
  onUndone: (object: T) => void,
): Source {
  return () =>
    informer.subscribe((event) => {
      if (event.type === 'updated' && isUndone(event)) onUndone(event.after)
    })
}

/** The error message of a run if another writer has set `attached` back to false during the run. */
export const STATUS_REVERTED = 'somebody has set the status back'

/**
 * Returns the outcome of a run whose status write has no effect. If another writer has reverted the write, the run is
 * repeated at once. If the API server did not store it, for example because of a webhook, it is retried with back-off.
 */
export function statusReverted({ status }: VolumeAttachment, cause: Error): Outcome {
  return { kind: status?.attached === true ? 'superseded' : 'retry', cause }
}
