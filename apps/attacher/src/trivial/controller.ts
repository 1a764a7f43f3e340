import { type Controller, keysOf, objectsOf } from '@csi-sidecars/controller'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { type AttacherParts, announced, backoffOf } from '../parts.ts'
import { VA_QUEUE } from '../volume-attachment/controller.ts'
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
    reconcile: (key, { signal }) => reconcileTrivially(key, parts, signal),
    traceSubject: attachmentTraceSubject(attachments.store),
    callsDriver: false,
    ...announced(log),
  }
}
