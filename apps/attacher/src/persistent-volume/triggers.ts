import type { Trigger, WakeEvent } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { concernsUs, hasLostFinalizer, type VolumeReleaseSettings } from './decide.ts'

/** Returns the name of a volume if our finalizer may have to be removed or restored. */
export function onVolume(settings: VolumeReleaseSettings): Trigger<CachedVolume> {
  return (event) => {
    if (event.type === 'deleted') return []
    const pv = event.type === 'added' ? event.object : event.after
    const isStripped = event.type === 'updated' && hasLostFinalizer(event, settings)
    return isStripped || concernsUs(pv, settings) ? [pv.key] : []
  }
}

/** Returns the volume of a deleted attachment. If no other attachment uses the volume, our finalizer can be removed. */
export const onAttachmentGone: Trigger<CachedAttachment> = (event) =>
  event.type === 'deleted' && event.object.pvName !== undefined ? [event.object.pvName] : []

/** Wakes a volume that waits for the deletion of an attachment. */
export function wakesOnDetach(event: InformerEvent<CachedAttachment>): readonly WakeEvent<'attachment'>[] {
  return event.type === 'deleted' ? [{ kind: 'attachment', name: event.object.key }] : []
}
