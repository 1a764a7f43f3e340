import { type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { Volume } from '../caches/volume.ts'
import type { UpdateEvent } from '../term/undone-write.ts'

export interface VolumeSettings {
  readonly driverName: string
  readonly finalizer: string
}

/** Whether a change of the volume may mean that our finalizer can go; pure. */
export function concernsUs(pv: Volume, settings: VolumeSettings): boolean {
  return pv.finalizers?.includes(settings.finalizer) === true && mayBeReleased(pv, settings)
}

/** A volume is released when it is being deleted, or when an in-tree volume is no longer migrated to this driver. */
function mayBeReleased(pv: Volume, { driverName }: VolumeSettings): boolean {
  return pv.deleting || (pv.kind === 'inTree' && pv.migratedTo !== driverName)
}

type Change = Pick<UpdateEvent<Volume>, 'before' | 'after'>

/** Another writer has removed our finalizer from a living volume; we remove it when the volume may be released. */
export function hasLostFinalizer({ before, after }: Change, settings: VolumeSettings): boolean {
  const { finalizer } = settings
  const isLost = before.finalizers?.includes(finalizer) === true && after.finalizers?.includes(finalizer) !== true
  return isLost && !mayBeReleased(after, settings)
}

/** Whether a volume that has lost our finalizer needs it back: it must not be deleted while it is attached. */
export function needsFinalizer(pv: Volume, attachments: readonly Attachment[], settings: VolumeSettings): boolean {
  const { finalizer } = settings
  if (pv.finalizers?.includes(finalizer) || mayBeReleased(pv, settings)) return false
  return attachments.some((va) => va.ours && (!va.deleting || va.finalizers?.includes(finalizer)))
}

/** The patch that releases the volume; undefined while it is to be kept or nothing of ours is on it. */
export function decideRelease(
  pv: Volume,
  attachments: readonly unknown[],
  settings: VolumeSettings,
): Patch | undefined {
  if (!mayBeReleased(pv, settings) || attachments.length > 0) return undefined
  return removeFinalizerPatch(pv.finalizers, settings.finalizer, pv.uid)
}
