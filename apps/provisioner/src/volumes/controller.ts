import { type Controller, causesOf, keysOf, type Trigger } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import type { Attachment } from '../caches/cluster.ts'
import type { Volume } from '../caches/volume.ts'
import { SIDECAR } from '../claims/pending.ts'
import { backoffOf, type TermParts } from '../parts.ts'
import { decideVolume } from './decide.ts'
import type { VolumeDeps } from './deletion.ts'
import { VolumeMemory } from './memory.ts'
import { reconcileVolume } from './reconcile.ts'

/** Returns the controller that puts a finalizer on volumes of this driver and deletes released volumes. */
export function volumeController(parts: TermParts): Controller {
  const { settings, volumes, classes, attachments } = parts
  const memory = new VolumeMemory(parts.clock)
  const deps: VolumeDeps = { ...parts, memory }
  const order = new FifoOrder({ workers: settings.workers, reserved: reservedFor(settings.workers) })
  return {
    name: 'volumes',
    workers: order.capacity,
    order,
    backoff: backoffOf(settings),
    caches: attachments === undefined ? [volumes, classes] : [volumes, classes, attachments],
    sources: [
      (queue) =>
        volumes.subscribe((event) => {
          if (event.type !== 'deleted') return
          queue.forget(event.object.key)
          memory.forget(event.object.uid)
        }),
      keysOf(volumes, onVolume),
      ...(attachments === undefined ? [] : [causesOf(attachments, causesOfAttachment)]),
    ],
    reconcile: (name, run) => reconcileVolume(name, deps, run),
    pending: {
      sidecar: SIDECAR,
      subject(name) {
        const volume = volumes.store.get(name)
        if (volume === undefined) return undefined
        const isDeleted = memory.isDeleted(volume.uid)
        if (decideVolume({ volume, attachments: [], isDeleted }).do !== 'delete') return undefined
        const object = { kind: 'PersistentVolume', namespace: '', name, uid: volume.uid }
        return { operation: 'delete', object, volume: name }
      },
      causes: { attachment: { kind: 'VolumeAttachment', reason: 'StillAttached' } },
    },
    callsDriver: true,
  }
}

/** Ignores events of this process's own writes, because the run that wrote the change continues by itself. */
const onVolume: Trigger<Volume> = (event) => {
  if (event.type === 'deleted' || (event.type === 'updated' && event.cause === 'own')) return []
  const volume = event.type === 'added' ? event.object : event.after
  return volume.ours ? [volume.key] : []
}

/** Wakes a released volume that waits for the deletion of its VolumeAttachment. */
function causesOfAttachment(event: InformerEvent<Attachment>): { readonly on: string; readonly name: string }[] {
  return event.type === 'deleted' ? [{ on: 'attachment', name: event.object.volume }] : []
}
