import { type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import type { UpdateEvent } from '../term/update-event.ts'

/** The names that decide whose finalizer is removed. */
export interface VolumeReleaseSettings {
  readonly driverName: string
  readonly finalizer: string
}

export function concernsUs(pv: CachedVolume, settings: VolumeReleaseSettings): boolean {
  return pv.finalizers?.includes(settings.finalizer) === true && mayBeReleased(pv, settings)
}

/** Reports whether the volume is being deleted, or is an in-tree volume that is no longer migrated to this driver. */
function mayBeReleased(pv: CachedVolume, { driverName }: VolumeReleaseSettings): boolean {
  return pv.deleting || (pv.kind === 'inTree' && pv.migratedTo !== driverName)
}

type Change = Pick<UpdateEvent<CachedVolume>, 'before' | 'after'>

/**
 * Reports whether another writer has removed our finalizer. This process removes it only if the volume is being deleted
 * or is no longer migrated to this driver.
 */
export function hasLostFinalizer({ before, after }: Change, settings: VolumeReleaseSettings): boolean {
  const { finalizer } = settings
  const isLost = before.finalizers?.includes(finalizer) === true && after.finalizers?.includes(finalizer) !== true
  return isLost && !mayBeReleased(after, settings)
}

/** Reports whether our finalizer is missing on an attached volume. The volume could be deleted then. */
export function needsFinalizer(
  pv: CachedVolume,
  attachments: readonly CachedAttachment[],
  settings: VolumeReleaseSettings,
): boolean {
  const { finalizer } = settings
  if (pv.finalizers?.includes(finalizer) || mayBeReleased(pv, settings)) return false
  return attachments.some((va) => va.ours && (!va.deleting || va.finalizers?.includes(finalizer)))
}

/** Returns the patch that removes our finalizer. Undefined if the volume lacks it, or must not be deleted yet. */
export function decideRelease(
  pv: CachedVolume,
  attachments: readonly unknown[],
  settings: VolumeReleaseSettings,
): Patch | undefined {
  if (!mayBeReleased(pv, settings) || attachments.length > 0) return undefined
  return removeFinalizerPatch(pv.finalizers, settings.finalizer, pv.uid)
}
