import type { Outcome } from '@csi-sidecars/controller'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'

/** The error message of a run if another writer has set `attached` back to false during the run. */
export const STATUS_REVERTED = 'another writer has reverted the status'

/**
 * Returns the outcome of a run whose status write has no effect. If another writer has reverted the write, the run is
 * repeated at once. If the API server did not store it, for example because of a webhook, it is retried with back-off.
 */
export function statusReverted({ status }: VolumeAttachment, cause: Error): Outcome {
  return { kind: status?.attached === true ? 'superseded' : 'retry', cause }
}
