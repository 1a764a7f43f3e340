import type { PendingWork, WorkSubject } from '@csi-sidecars/controller'
import type { FailureTexts } from '../reporting/failure-reporter.ts'

/** The longest message of an Event, as in the API `events.k8s.io`. */
const MAX_MESSAGE_LENGTH = 1024

/** The texts of the events about failing attaches and detaches, on the VolumeAttachment and on its volume's claim. */
export const ATTACHMENT_EVENTS: FailureTexts = {
  failed(work) {
    const error = work.message ?? ''
    const isBlocked = work.state === 'waiting' && work.nextTry === undefined
    if (work.operation === 'attach')
      return { type: 'Warning', reason: 'VolumeAttachFailed', message: messageAbout(work, error) }
    return isBlocked
      ? {
          type: 'Warning',
          reason: 'VolumeDetachBlocked',
          message: messageAbout(work, `${error}. Not tried again until that changes`),
        }
      : { type: 'Warning', reason: 'VolumeDetachFailed', message: messageAbout(work, error) }
  },
  recovered(subject, failures) {
    const after = failures === 1 ? '1 failure' : `${failures} failures`
    return subject.operation === 'attach'
      ? { type: 'Normal', reason: 'VolumeAttachSuccessful', message: messageAbout(subject, `attached after ${after}`) }
      : { type: 'Normal', reason: 'VolumeDetachSuccessful', message: messageAbout(subject, `detached after ${after}`) }
  },
}

function messageAbout({ volume, node }: Pick<WorkSubject | PendingWork, 'volume' | 'node'>, message: string): string {
  const text = `Volume ${volume ?? '(inline)'} on node ${node ?? ''}: ${message}`
  return text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH - 3)}...` : text
}
