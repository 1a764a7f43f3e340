import { type Controller, keysOf, objectsOf } from '@csi-sidecars/controller'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { SIDECAR } from '../reporting/failure-reporter.ts'
import { type AttacherDeps, backoffOf, lifecycleLogs } from '../term/deps.ts'
import { type UndoneWrite, undoneAgain, undoneBy } from '../term/undone-write.ts'
import { VA_QUEUE } from '../volume-attachment/controller.ts'
import { attachmentTraceSubject, objectOf } from '../volume-attachment/pending.ts'
import { isStatusReverted, onAttachment } from '../volume-attachment/triggers.ts'
import { reconcileTrivially } from './reconcile.ts'

/** Marks attachments as attached, for a driver that has no attach. */
export function trivialController(deps: AttacherDeps & { readonly api: KubeClient }): Controller {
  const { settings, attachments, clock, log } = deps
  const backoff = backoffOf(settings)
  /** Keyed by UID. */
  const undone = new Map<string, UndoneWrite>()
  return {
    name: VA_QUEUE,
    workers: settings.workers,
    backoff,
    caches: [attachments],
    sources: [
      objectsOf(attachments, ({ uid }) => undone.delete(uid)),
      undoneBy(attachments, isStatusReverted, ({ uid }) =>
        undone.set(uid, undoneAgain(undone.get(uid), { backoff, clock })),
      ),
      keysOf(attachments, onAttachment(settings.finalizer, log)),
    ],
    reconcile: (key, run) => reconcileTrivially(key, { ...deps, undone }, run),
    traceSubject: attachmentTraceSubject(attachments.store),
    pending: {
      sidecar: SIDECAR,
      subject(key) {
        const va = attachments.store.get(key)
        if (va === undefined || !va.ours || va.attached === true) return undefined
        const { pvName: volume, nodeName: node, dueSeconds: sinceSeconds } = va
        return { operation: 'attach', object: objectOf(va), volume, node, sinceSeconds }
      },
      causes: {},
    },
    callsDriver: false,
    ...lifecycleLogs(log),
  }
}
