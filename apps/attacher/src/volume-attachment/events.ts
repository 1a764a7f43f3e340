import type { PendingWork, Subject } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'
import type { FailureTexts } from '../reporting/failure-reporter.ts'

/** The API server refuses longer messages of some clients, and no user reads them. */
const LONGEST_MESSAGE = 1024

/** The events of a VolumeAttachment, and of the claim behind it, about failing attaches and detaches. */
export const ATTACHMENT_EVENTS: FailureTexts = {
  failed(work) {
    const message = work.message ?? ''
    if (work.operation === 'attach') return warning('VolumeAttachFailed', about(work, message))
    const isBlocked = work.state === 'waiting' && work.nextTry === undefined
    return isBlocked
      ? warning('VolumeDetachBlocked', about(work, `${message}. Not tried again until that changes`))
      : warning('VolumeDetachFailed', about(work, message))
  },
  recovered(subject, failures) {
    const after = failures === 1 ? '1 failure' : `${failures} failures`
    return subject.operation === 'attach'
      ? normal('VolumeAttachSuccessful', about(subject, `attached after ${after}`))
      : normal('VolumeDetachSuccessful', about(subject, `detached after ${after}`))
  },
}

function warning(reason: string, message: string): EventText {
  return { type: 'Warning', reason, message }
}

function normal(reason: string, message: string): EventText {
  return { type: 'Normal', reason, message }
}

function about({ volume, node }: Pick<Subject | PendingWork, 'volume' | 'node'>, message: string): string {
  const text = `Volume ${volume ?? '(inline)'} on node ${node ?? ''}: ${message}`
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 3)}...` : text
}
