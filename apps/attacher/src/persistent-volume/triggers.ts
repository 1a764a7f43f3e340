import type { Trigger } from '@csi-sidecars/controller'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { concernsUs, hasLostFinalizer, type VolumeReleaseSettings } from './decide.ts'

/** Returns a volume that may be released, and a volume that has lost our finalizer. */
export function onVolume(settings: VolumeReleaseSettings): Trigger<CachedVolume> {
  return (event) => {
    if (event.type === 'deleted') return []
    const pv = event.type === 'added' ? event.object : event.after
    const isStripped = event.type === 'updated' && hasLostFinalizer(event, settings)
    return isStripped || concernsUs(pv, settings) ? [pv.key] : []
  }
}

/** Returns the volume of a deleted attachment of any attacher: it may have been the last one. */
export const onAttachmentGone: Trigger<CachedAttachment> = (event) =>
  event.type === 'deleted' && event.object.pvName !== undefined ? [event.object.pvName] : []
