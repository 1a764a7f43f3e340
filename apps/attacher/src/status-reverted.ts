import type { Outcome } from '@csi-sidecars/controller'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'

/** What users read in the log. */
export const STATUS_REVERTED = 'somebody has set the status back'

/**
 * The status that a run has written is not the newest any more. Where it was stored and then reverted, it is written once
 * more: the attach has succeeded, and its failures count no more. Where it was not stored, say because a webhook drops it,
 * it is retried with back-off; otherwise it would be written without end.
 */
export function statusReverted({ status }: VolumeAttachment, cause: Error): Outcome {
  return { kind: status?.attached === true ? 'superseded' : 'retry', cause }
}
