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
  | { readonly kind: 'nothing'; readonly why: string }
  | { readonly kind: 'addFinalizer' }
  | { readonly kind: 'removeFinalizer' }
  /** Delete the PersistentVolume. If `isDeleted` is false, delete the volume at the driver first. */
  | { readonly kind: 'delete'; readonly isDeleted: boolean; readonly attachedTo: string | undefined }

/** Returns the next step for a PersistentVolume. The first check that applies decides. */
export function decideVolume({ volume, attachments, isDeleted }: DeletionView): VolumeDecision {
  const { ours, phase, reclaimPolicy, deleting, isReachable } = volume
  const isProtected = volume.finalizers?.includes(VOLUME_FINALIZER) === true
  if (!ours) return { kind: 'nothing', why: 'another provisioner is responsible' }
  if (reclaimPolicy === 'Delete' && phase === 'Bound' && !deleting && !isProtected) return { kind: 'addFinalizer' }
  if ((reclaimPolicy === 'Retain' || reclaimPolicy === 'Recycle') && isProtected) return { kind: 'removeFinalizer' }
  if (deleting && !isProtected) return { kind: 'nothing', why: 'its volume is gone already' }
  if (phase !== 'Released') return { kind: 'nothing', why: 'its claim has not released it' }
  if (reclaimPolicy !== 'Delete') return { kind: 'nothing', why: 'its volume is retained' }
  if (!isReachable) return { kind: 'nothing', why: 'only processes on other nodes can reach it' }
  return { kind: 'delete', isDeleted, attachedTo: attachments[0]?.node }
}
