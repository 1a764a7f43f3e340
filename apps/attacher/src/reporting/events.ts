import type { PendingWork, Subject } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'

/** The API server takes no longer ones from some clients, and no user reads them. */
const LONGEST_MESSAGE = 1024

/** What users read about attaching in the events of a VolumeAttachment and of the claim behind it. */
export const ATTACHMENT_EVENTS = {
  attachFailed: (work: PendingWork): EventText => ({
    type: 'Warning',
    reason: 'VolumeAttachFailed',
    message: about(work, work.message ?? ''),
  }),
  detachFailed: (work: PendingWork): EventText => ({
    type: 'Warning',
    reason: 'VolumeDetachFailed',
    message: about(work, work.message ?? ''),
  }),
  detachBlocked: (work: PendingWork): EventText => ({
    type: 'Warning',
    reason: 'VolumeDetachBlocked',
    message: about(work, `${work.message ?? ''}. Not tried again until that changes`),
  }),
  attached: (subject: Subject, failures: number): EventText => ({
    type: 'Normal',
    reason: 'VolumeAttachSuccessful',
    message: about(subject, `attached after ${tries(failures)}`),
  }),
  detached: (subject: Subject, failures: number): EventText => ({
    type: 'Normal',
    reason: 'VolumeDetachSuccessful',
    message: about(subject, `detached after ${tries(failures)}`),
  }),
} as const

function about({ volume, node }: Pick<Subject, 'volume' | 'node'>, words: string): string {
  const text = `Volume ${volume ?? '(inline)'} on node ${node ?? ''}: ${words}`
  return text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE - 3)}...` : text
}

function tries(failures: number): string {
  return failures === 1 ? '1 failure' : `${failures} failures`
}

/** The event for work that fails. */
export function failureEvent(work: PendingWork): EventText {
  if (work.operation === 'attach') return ATTACHMENT_EVENTS.attachFailed(work)
  const blocked = work.state === 'waiting' && work.nextTry === undefined
  return blocked ? ATTACHMENT_EVENTS.detachBlocked(work) : ATTACHMENT_EVENTS.detachFailed(work)
}

/** The event for work that has failed before and is done now. */
export function recoveryEvent(subject: Subject, failures: number): EventText {
  const text = subject.operation === 'attach' ? ATTACHMENT_EVENTS.attached : ATTACHMENT_EVENTS.detached
  return text(subject, failures)
}
