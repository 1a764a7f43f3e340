import { type Controller, enqueueOn, type Source, wakeOn } from '@csi-sidecars/controller'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import { backoffOf, SIDECAR, type TermParts } from '../parts.ts'
import { AttachedVolumes } from './attached.ts'
import { isToBeDeleted } from './decide.ts'
import { VolumeMemory } from './memory.ts'
import { reconcileVolume } from './reconcile.ts'
import type { VolumeDeps, VolumeWakeKind } from './run.ts'
import { onVolume } from './triggers.ts'

/** Returns the controller that puts a finalizer on volumes of this driver and deletes released volumes. */
export function volumeController(term: TermParts): Controller<VolumeWakeKind> {
  const { settings, volumes, classes, attachments } = term
  const memory = new VolumeMemory(term.clock)
  const attached = attachments && new AttachedVolumes(term.api)
  const deps: VolumeDeps = { ...term, memory, attached }
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
      enqueueOn(volumes, onVolume),
    ],
    wakers: {
      attachment: { object: 'VolumeAttachment', reason: 'StillAttached', source: detachments(term) },
      endOfUse: { object: 'PersistentVolumeClaim', reason: 'StillCloned', source: term.uses.source },
    },
    reconcile: (name, run) => reconcileVolume(name, deps, run),
    pending: {
      sidecar: SIDECAR,
      subject(name) {
        const volume = volumes.store.get(name)
        if (volume === undefined) return undefined
        const driverHasDeleted = memory.driverHasDeleted(volume.uid)
        if (!isToBeDeleted({ volume, driverHasDeleted })) return undefined
        const object = { kind: 'PersistentVolume', namespace: '', name, uid: volume.uid }
        return { operation: 'delete', object, volume: name }
      },
    },
    callsDriver: true,
  }
}

/** Wakes a released volume when its VolumeAttachment is deleted. */
function detachments({ attachments }: Pick<TermParts, 'attachments'>): Source<'attachment'> {
  if (attachments === undefined) return () => () => undefined
  return wakeOn(attachments, (event) =>
    event.type === 'deleted' ? [{ kind: 'attachment', name: event.object.volume }] : [],
  )
}
