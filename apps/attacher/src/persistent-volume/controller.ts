import { type Controller, keysOf, objectsOf, type Trigger, wakesOn } from '@csi-sidecars/controller'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import { backoffOf } from '../term/settings.ts'
import type { AttacherTerm } from '../term/term.ts'
import { undoneBy } from '../term/undone-source.ts'
import { type UndoneWrite, undoneAgain } from '../term/undone-write.ts'
import { concernsUs, hasLostFinalizer, type VolumeReleaseSettings } from './decide.ts'
import { type ReleaseWakeKind, reconcileVolume } from './reconcile.ts'

/** The name of the queue of PersistentVolumes in metrics. */
export const PV_QUEUE = 'csi-attacher-pv'

/** Returns the controller that removes our finalizer from unused volumes, and restores it on volumes in use. */
export function volumeController(term: AttacherTerm): Controller<ReleaseWakeKind> {
  const { settings, volumes, attachments, api, finalizers, clock, log } = term
  const backoff = backoffOf(settings)
  /** The last removal of our finalizer by another writer, by UID of the PersistentVolume. */
  const undone = new Map<string, UndoneWrite>()
  const deps = { api, volumes, attachments: attachments.store, finalizers, undone, settings, clock, log }
  return {
    name: PV_QUEUE,
    workers: settings.workers,
    backoff,
    caches: [attachments, volumes],
    sources: [
      objectsOf(volumes, ({ uid }) => undone.delete(uid)),
      undoneBy(
        volumes,
        (event) => hasLostFinalizer(event, settings),
        ({ uid }) => undone.set(uid, undoneAgain(undone.get(uid), { backoff, clock })),
      ),
      keysOf(attachments, onAttachmentGone),
      keysOf(volumes, onVolume(settings)),
    ],
    wakers: {
      attachment: {
        object: 'VolumeAttachment',
        reason: 'StillAttached',
        source: wakesOn(attachments, (event) =>
          event.type === 'deleted' ? [{ kind: 'attachment', name: event.object.key }] : [],
        ),
      },
    },
    reconcile: (key, run) => reconcileVolume(key, deps, run),
    traceSubject: (key) => ({
      operation: 'remove finalizer',
      names: { 'k8s.persistentvolume.name': key },
      traceparent: volumes.store.get(key)?.traceparent,
    }),
    pending: {
      sidecar: SIDECAR,
      subject(key) {
        const pv = volumes.store.get(key)
        if (pv === undefined || !concernsUs(pv, settings)) return undefined
        const object = { kind: 'PersistentVolume', namespace: '', name: key, uid: pv.uid }
        return { operation: 'release', object, volume: key }
      },
    },
    callsDriver: false,
  }
}

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
