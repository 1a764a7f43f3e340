import { type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import type { Volume } from '../caches/volume.ts'

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

/** The patch that releases the volume; undefined while it is to be kept or nothing of ours is on it. */
export function decideRelease(
  pv: Volume,
  attachments: readonly unknown[],
  settings: VolumeSettings,
): Patch | undefined {
  if (!mayBeReleased(pv, settings) || attachments.length > 0) return undefined
  return removeFinalizerPatch(pv.finalizers, settings.finalizer, pv.uid)
}
