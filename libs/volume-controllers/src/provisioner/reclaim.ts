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
  /** The volume is still attached. The deletion of the attachment enqueues the key again. */
  | { readonly do: 'wait'; readonly message: string }
  | { readonly do: 'delete'; readonly volumeHandle: string; readonly secret: SecretRef | undefined }

/** Decides whether this provisioner deletes the volume, first in the driver and then in the API. */
export function decideReclaim({ volume, attachments, driverName }: ReclaimView): ReclaimDecision {
  const { csi, annotations, phase, reclaimPolicy, deleting, finalizers } = volume
  if (csi === undefined || annotations[PROVISIONED_BY] !== driverName) return { do: 'nothing' }
  if (phase !== 'Released' || reclaimPolicy !== 'Delete') return { do: 'nothing' }
  // A volume in deletion without our finalizer has nothing left in the driver.
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
