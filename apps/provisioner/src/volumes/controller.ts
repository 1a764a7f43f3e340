import { type Controller, causesOf, keysOf } from '@csi-sidecars/controller'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import { SIDECAR } from '../claims/pending.ts'
import { backoffOf, type TermParts } from '../parts.ts'
import { END_OF_USE } from '../sources/uses.ts'
import { AttachedVolumes } from './attached.ts'
import { decideVolume } from './decide.ts'
import type { VolumeDeps } from './deletion.ts'
import { VolumeMemory } from './memory.ts'
import { reconcileVolume } from './reconcile.ts'
import { onVolume } from './triggers.ts'

/** Returns the controller that puts a finalizer on volumes of this driver and deletes released volumes. */
export function volumeController(parts: TermParts): Controller {
  const { settings, volumes, classes, attachments } = parts
  const memory = new VolumeMemory(parts.clock)
  const attached = attachments && new AttachedVolumes(parts.api)
  const deps: VolumeDeps = { ...parts, memory, attached }
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
      parts.uses.source,
      // A released volume waits for the deletion of its VolumeAttachment.
      ...(attachments === undefined
        ? []
        : [causesOf(attachments, (e) => (e.type === 'deleted' ? [{ on: 'attachment', name: e.object.volume }] : []))]),
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
      causes: {
        attachment: { kind: 'VolumeAttachment', reason: 'StillAttached' },
        [END_OF_USE]: { kind: 'PersistentVolumeClaim', reason: 'StillCloned' },
      },
    },
    callsDriver: true,
  }
}
