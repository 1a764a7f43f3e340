import { type Controller, enqueueOn, forgetDeleted, wakeOn } from '@csi-sidecars/controller'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import { backoffOf } from '../term/settings.ts'
import type { AttacherTerm } from '../term/term.ts'
import { watchUndone } from '../term/undone-source.ts'
import { recordUndone, type UndoneWrite } from '../term/undone-write.ts'
import { concernsUs, hasLostFinalizer, type ReleaseWakeKind } from './decide.ts'
import { reconcileVolume } from './reconcile.ts'
import { onAttachmentGone, onVolume, wakesOnDetach } from './triggers.ts'

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
      forgetDeleted(volumes, ({ uid }) => undone.delete(uid)),
      watchUndone(
        volumes,
        (event) => hasLostFinalizer(event, settings),
        ({ uid }) => undone.set(uid, recordUndone(undone.get(uid), { backoff, clock })),
      ),
      enqueueOn(attachments, onAttachmentGone),
      enqueueOn(volumes, onVolume(settings)),
    ],
    wakers: {
      attachment: {
        object: 'VolumeAttachment',
        reason: 'StillAttached',
        source: wakeOn(attachments, wakesOnDetach),
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
