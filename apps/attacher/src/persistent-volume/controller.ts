import { type Controller, keysOf, objectsOf } from '@csi-sidecars/controller'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import { type AttacherTerm, backoffOf } from '../term/deps.ts'
import { type UndoneWrite, undoneAgain, undoneBy } from '../term/undone-write.ts'
import { concernsUs, hasLostFinalizer } from './decide.ts'
import { reconcileVolume } from './reconcile.ts'
import { onAttachmentGone, onVolume } from './triggers.ts'

/** The name of its queue in metrics. */
export const PV_QUEUE = 'csi-attacher-pv'

/** Removes our finalizer from volumes that no attachment needs, and restores it on volumes in use. */
export function volumeController(term: AttacherTerm): Controller {
  const { settings, volumes, attachments, api, finalizers, clock, log } = term
  const backoff = backoffOf(settings)
  /** Keyed by UID. */
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
      causes: { attachment: { kind: 'VolumeAttachment', reason: 'StillAttached' } },
    },
    callsDriver: false,
  }
}
