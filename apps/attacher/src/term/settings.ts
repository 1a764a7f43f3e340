import type { Controller } from '@csi-sidecars/controller'

/** The settings that decisions depend on. They never change during the life of the process. */
export interface AttachSettings {
  readonly driverName: string
  readonly finalizer: string
  readonly defaultFsType: string
  readonly recoverLostVolumes: boolean
}

/** The command line of the attacher. Times are in milliseconds. */
export interface AttacherSettings extends AttachSettings {
  readonly workers: number
  readonly maxInflightPerNode: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** The deadline of one publish, unpublish, or page of ListVolumes. */
  readonly timeoutMs: number
  readonly maxEntries: number
  readonly comparisonPeriodMs: number
  /** The number of listings in a row that must disagree with an attachment. */
  readonly confirmations: number
  readonly recordErrorCode: boolean
}

export function backoffOf({ retryStartMs, retryMaxMs }: AttacherSettings): Controller['backoff'] {
  return { baseMs: retryStartMs, maxMs: retryMaxMs }
}
