import { type Controller, keysOf, objectsOf } from '@csi-sidecars/controller'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type AttacherParts, announced, backoffOf } from '../parts.ts'
import { VA_QUEUE } from '../volume-attachment/controller.ts'
import { objectOf, SIDECAR } from '../volume-attachment/subject.ts'
import { attachmentTraceSubject } from '../volume-attachment/trace-subject.ts'
import { onAttachment } from '../volume-attachment/triggers.ts'
import { reconcileTrivially } from './reconcile.ts'

/** Marks attachments as attached, for a driver that has no attach. */
export function trivialController(parts: AttacherParts & { readonly api: KubeClient }): Controller {
  const { settings, attachments, log } = parts
  return {
    name: VA_QUEUE,
    workers: settings.workers,
    backoff: backoffOf(settings),
    caches: [attachments],
    sources: [objectsOf(attachments), keysOf(attachments, onAttachment(settings.finalizer, log))],
    reconcile: (key, run) => reconcileTrivially(key, parts, run),
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
    ...announced(log),
  }
}
