import { goQuote, type Logger, objectRef, UNQUOTED } from '@csi-sidecars/telemetry'
import type { EventTarget } from './event.ts'
import type { Recorder } from './recorder.ts'

/** Returns a function that logs an event in one line with pairs, as client-go's StartStructuredLogging does. */
export function structuredLines(log: Logger): Recorder['event'] {
  return ({ kind, apiVersion, name, namespace = '' }, { type, reason, message }) => {
    const object = objectRef({ name, namespace })
    log.info('Event occurred', { object, fieldPath: '', kind, apiVersion, type, reason, message })
  }
}

/** Returns a function that logs an event in one line of text, as client-go's StartLogging does. */
export function textLines(log: Logger): Recorder['event'] {
  return (target, { type, reason, message }) =>
    log.info(`Event(${referenceText(target)}): type: '${type}' reason: '${reason}' ${message}`, UNQUOTED)
}

function referenceText({
  kind,
  namespace = '',
  name,
  uid = '',
  apiVersion,
  resourceVersion = '',
}: EventTarget): string {
  const fields = [
    `Kind:${goQuote(kind)}, Namespace:${goQuote(namespace)}, Name:${goQuote(name)}, UID:${goQuote(uid)}`,
    `APIVersion:${goQuote(apiVersion)}, ResourceVersion:${goQuote(resourceVersion)}, FieldPath:""`,
  ]
  return `v1.ObjectReference{${fields.join(', ')}}`
}
