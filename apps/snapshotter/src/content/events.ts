import { isAbort } from '@csi-sidecars/base'
import type { EventTarget, EventText, Recorder } from '@csi-sidecars/events'
import { referenceTo } from '@csi-sidecars/kube-types'
import { goQuote, type Logger, UNQUOTED } from '@csi-sidecars/telemetry'
import type { Content } from '../caches/content.ts'
import type { ContentRun } from './run.ts'

/** Records a Warning event about the snapshot content. */
export function warn({ deps }: ContentRun, content: Content, text: Omit<EventText, 'type'>): void {
  deps.recorder.event(referenceTo(deps.kind.resource, content), { type: 'Warning', ...text })
}

/** Wraps a recorder: logs each event as client-go does, and drops events after this process has lost the lease. */
export function termRecorder(recorder: Recorder, assertLeading: () => void, log: Logger): Pick<Recorder, 'event'> {
  return {
    event: (target, text) => {
      try {
        assertLeading()
      } catch (error) {
        if (isAbort(error)) return
        throw error
      }
      const { type, reason, message } = text
      log.info(`Event(${referenceText(target)}): type: '${type}' reason: '${reason}' ${message}`, UNQUOTED)
      recorder.event(target, text)
    },
  }
}

function referenceText({ kind, name, uid = '', apiVersion, resourceVersion = '' }: EventTarget): string {
  const fields = [
    `Kind:${goQuote(kind)}, Namespace:"", Name:${goQuote(name)}, UID:${goQuote(uid)}`,
    `APIVersion:${goQuote(apiVersion)}, ResourceVersion:${goQuote(resourceVersion)}, FieldPath:""`,
  ]
  return `v1.ObjectReference{${fields.join(', ')}}`
}
