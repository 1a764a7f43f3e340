import type { EventTarget, EventText } from '@csi-sidecars/events'
import { referenceTo } from '@csi-sidecars/kube-types'
import { goQuote, type Logger, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import type { ContentRun } from './run.ts'

/** Records a Warning event about the snapshot content. */
export function warn({ deps }: ContentRun, content: Content, text: Omit<EventText, 'type'>): void {
  deps.recorder.event(referenceTo(deps.kind.resource, content), { type: 'Warning', ...text })
}

/** Logs an event in one line, as client-go does. */
export function logEvent(log: Logger, target: EventTarget, { type, reason, message }: EventText): void {
  log.info(`Event(${referenceText(target)}): type: '${type}' reason: '${reason}' ${message}`, UNQUOTED)
}

function referenceText({ kind, name, uid = '', apiVersion, resourceVersion = '' }: EventTarget): string {
  const fields = [
    `Kind:${goQuote(kind)}, Namespace:"", Name:${goQuote(name)}, UID:${goQuote(uid)}`,
    `APIVersion:${goQuote(apiVersion)}, ResourceVersion:${goQuote(resourceVersion)}, FieldPath:""`,
  ]
  return `v1.ObjectReference{${fields.join(', ')}}`
}
