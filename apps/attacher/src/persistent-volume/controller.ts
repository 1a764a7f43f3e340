import { type Controller, keysOf, objectsOf } from '@csi-sidecars/controller'
import { backoffOf, type TermParts } from '../parts.ts'
import { SIDECAR } from '../volume-attachment/subject.ts'
import { concernsUs } from './decide.ts'
import { reconcileVolume } from './reconcile.ts'
import { onAttachmentGone, onVolume } from './triggers.ts'

/** The name of its queue in metrics. */
export const PV_QUEUE = 'csi-attacher-pv'

/** Takes the finalizer off volumes that nothing needs any more. */
export function volumeController({ settings, volumes, attachments, api, log }: TermParts): Controller {
  const deps = { api, volumes, attachments: attachments.store, settings, log }
  return {
    name: PV_QUEUE,
    workers: settings.workers,
    backoff: backoffOf(settings),
    caches: [attachments, volumes],
    sources: [objectsOf(volumes), keysOf(attachments, onAttachmentGone), keysOf(volumes, onVolume(settings))],
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
