import { type Controller, enqueueOn, forgetDeleted } from '@csi-sidecars/controller'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import { lifecycleLogs } from '../term/lifecycle-logs.ts'
import { backoffOf } from '../term/settings.ts'
import type { AttacherDeps } from '../term/term.ts'
import { watchUndone } from '../term/undone-source.ts'
import { recordUndone, type UndoneWrite } from '../term/undone-write.ts'
import { VA_QUEUE } from '../volume-attachment/controller.ts'
import { attachmentTraceSubject, objectOf } from '../volume-attachment/pending.ts'
import { isStatusReverted, onAttachment } from '../volume-attachment/triggers.ts'
import { reconcileTrivially } from './reconcile.ts'

/** Returns the controller that only marks VolumeAttachments as attached, for a driver that cannot attach. */
export function trivialController(deps: AttacherDeps & { readonly api: KubeClient }): Controller {
  const { settings, attachments, clock, log } = deps
  const backoff = backoffOf(settings)
  /** The last reverted write of the status, by UID of the attachment. */
  const undone = new Map<string, UndoneWrite>()
  return {
    name: VA_QUEUE,
    workers: settings.workers,
    backoff,
    caches: [attachments],
    sources: [
      forgetDeleted(attachments, ({ uid }) => undone.delete(uid)),
      watchUndone(attachments, isStatusReverted, ({ uid }) =>
        undone.set(uid, recordUndone(undone.get(uid), { backoff, clock })),
      ),
      enqueueOn(attachments, onAttachment(settings.finalizer, log)),
    ],
    wakers: {},
    reconcile: (key, run) => reconcileTrivially(key, { ...deps, undone }, run),
    traceSubject: attachmentTraceSubject(attachments.store),
    pending: {
      sidecar: SIDECAR,
      subject(key) {
        const va = attachments.store.get(key)
        if (va === undefined || !va.ours || va.attached === true) return undefined
        const { pvName: volume, nodeName: node, requestedAtSeconds: sinceSeconds } = va
        return { operation: 'attach', object: objectOf(va), volume, node, sinceSeconds }
      },
    },
    callsDriver: false,
    ...lifecycleLogs(log),
  }
}
