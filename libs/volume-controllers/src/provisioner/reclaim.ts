import {
  DELETION_SECRET_NAME,
  DELETION_SECRET_NAMESPACE,
  PROVISIONED_BY,
  PROVISIONER_FINALIZER,
} from '../caches/annotations.ts'
import type { Attachment } from '../caches/attachment.ts'
import type { Volume } from '../caches/volume.ts'
import type { SecretRef } from './parameters.ts'

/** A volume and the attachments that name it. */
export interface ReclaimView {
  readonly volume: Volume
  readonly attachments: readonly Attachment[]
  readonly driverName: string
}

export type ReclaimDecision =
  | { readonly do: 'nothing' }
  /** Its detach is under way; the end of the attachment brings the key back. */
  | { readonly do: 'wait'; readonly message: string }
  | { readonly do: 'delete'; readonly volumeHandle: string; readonly secret: SecretRef | undefined }

/** Whether the volume is ours to delete, at the driver and then in the API. */
export function decideReclaim({ volume, attachments, driverName }: ReclaimView): ReclaimDecision {
  const { csi, annotations, phase, reclaimPolicy, deleting, finalizers } = volume
  if (csi === undefined || annotations[PROVISIONED_BY] !== driverName) return { do: 'nothing' }
  if (phase !== 'Released' || reclaimPolicy !== 'Delete') return { do: 'nothing' }
  // Without our finalizer on it, one that is being deleted already has nothing left at the driver.
  if (deleting && finalizers?.includes(PROVISIONER_FINALIZER) !== true) return { do: 'nothing' }
  const [attachment] = attachments
  if (attachment !== undefined) {
    const message = `persistentvolume ${volume.key} is still attached to node ${attachment.nodeName}`
    return { do: 'wait', message }
  }
  return { do: 'delete', volumeHandle: csi.volumeHandle, secret: secretOf(annotations) }
}

function secretOf(annotations: Volume['annotations']): SecretRef | undefined {
  const name = annotations[DELETION_SECRET_NAME]
  const namespace = annotations[DELETION_SECRET_NAMESPACE]
  return name && namespace ? { name, namespace } : undefined
}
