import type { Recorder } from '@csi-sidecars/events'
import { type Logger, objectRef } from '@csi-sidecars/telemetry'

/** The same recorder, with a line in the log for each event. */
export function loggingRecorder(recorder: Recorder, log: Logger): Recorder {
  return {
    event(target, { type, reason, message }) {
      const { kind, apiVersion, name, namespace = '' } = target
      const object = objectRef({ name, namespace })
      log.info('Event occurred', { object, fieldPath: '', kind, apiVersion, type, reason, message })
      recorder.event(target, { type, reason, message })
    },
    flush: (signal) => recorder.flush(signal),
  }
}
