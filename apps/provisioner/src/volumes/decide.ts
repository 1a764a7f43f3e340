import type { ProvisionerAttachment } from '../caches/cluster.ts'
import { VOLUME_FINALIZER } from '../caches/names.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'

/** A PersistentVolume and its VolumeAttachments, read at one moment. */
export interface DeletionView {
  readonly volume: ProvisionerVolume
  readonly attachments: readonly ProvisionerAttachment[]
  /** True if this process has already deleted the volume at the driver. */
  readonly isDeleted: boolean
}

export type VolumeDecision =
  | { readonly do: 'nothing'; readonly why: string }
  | { readonly do: 'addFinalizer' }
  | { readonly do: 'removeFinalizer' }
  /** Delete the PersistentVolume. If `isDeleted` is false, delete the volume at the driver first. */
  | { readonly do: 'delete'; readonly isDeleted: boolean; readonly attachedTo: string | undefined }

/** Returns the next step for a PersistentVolume. The first check that applies decides. */
export function decideVolume({ volume, attachments, isDeleted }: DeletionView): VolumeDecision {
  const { ours, phase, reclaimPolicy, deleting, isReachable } = volume
  const isProtected = volume.finalizers?.includes(VOLUME_FINALIZER) === true
  if (!ours) return { do: 'nothing', why: 'another provisioner is responsible' }
  if (reclaimPolicy === 'Delete' && phase === 'Bound' && !deleting && !isProtected) return { do: 'addFinalizer' }
  if ((reclaimPolicy === 'Retain' || reclaimPolicy === 'Recycle') && isProtected) return { do: 'removeFinalizer' }
  if (deleting && !isProtected) return { do: 'nothing', why: 'its volume is gone already' }
  if (phase !== 'Released') return { do: 'nothing', why: 'its claim has not released it' }
  if (reclaimPolicy !== 'Delete') return { do: 'nothing', why: 'its volume is retained' }
  if (!isReachable) return { do: 'nothing', why: 'only processes on other nodes can reach it' }
  return { do: 'delete', isDeleted, attachedTo: attachments[0]?.node }
}
