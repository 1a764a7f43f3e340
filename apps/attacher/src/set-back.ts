import type { Outcome } from '@csi-sidecars/controller'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'

/**
 * The status that a run has written is not the newest any more. What was stored, and then set back, is wanted once more:
 * the attach has succeeded, and its failures count no more. Where it was not stored, as by a webhook that keeps it back, it
 * would be written without end.
 */
export function setBack({ status }: VolumeAttachment, cause: Error): Outcome {
  return { kind: status?.attached === true ? 'again' : 'retry', cause }
}
