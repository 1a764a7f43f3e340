import { type Controller, keysOf } from '@csi-sidecars/controller'
import { backoffOf, type TermParts } from '../parts.ts'
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
    sources: [keysOf(attachments, onAttachmentGone), keysOf(volumes, onVolume(settings))],
    reconcile: (key, { signal }) => reconcileVolume(key, deps, signal),
    traceSubject: (key) => ({
      operation: 'remove finalizer',
      names: { 'k8s.persistentvolume.name': key },
      traceparent: volumes.store.get(key)?.traceparent,
    }),
    callsDriver: false,
  }
}
