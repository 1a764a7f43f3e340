import { code, table } from './markdown.ts'

interface EventRow {
  readonly reason: string
  readonly type: 'Normal' | 'Warning'
  readonly on: string
  readonly means: string
}

export const EVENTS: readonly EventRow[] = [
  { reason: 'Resizing', type: 'Normal', on: 'claim', means: 'The driver is asked to expand the volume.' },
  {
    reason: 'FileSystemResizeRequired',
    type: 'Normal',
    on: 'claim',
    means: 'The volume is larger; the node finishes when a pod uses it.',
  },
  { reason: 'VolumeResizeSuccessful', type: 'Normal', on: 'claim', means: 'Done, without a step on the node.' },
  {
    reason: 'VolumeResizeFailed',
    type: 'Warning',
    on: 'claim',
    means: 'An attempt failed; the message contains the error of the driver. It is tried again.',
  },
  { reason: 'VolumeModify', type: 'Normal', on: 'claim', means: 'The driver is asked to modify the volume.' },
  { reason: 'VolumeModifySuccessful', type: 'Normal', on: 'claim', means: 'Done.' },
  {
    reason: 'VolumeModifyFailed',
    type: 'Warning',
    on: 'claim',
    means: 'An attempt failed, the VolumeAttributesClass does not exist, or the driver cannot modify volumes.',
  },
  {
    reason: 'VolumeModifyDriverMismatch',
    type: 'Warning',
    on: 'claim',
    means: 'The VolumeAttributesClass is for another driver than the volume. Its parameters are applied nevertheless.',
  },
  { reason: 'VolumeModifyCanceled', type: 'Normal', on: 'claim', means: 'The claim no longer asks for another class.' },
  {
    reason: 'VolumeAttachFailed',
    type: 'Warning',
    on: 'VolumeAttachment, claim',
    means: 'Attaching has failed for ten seconds or more. One event whose count and message follow the attempts.',
  },
  {
    reason: 'VolumeAttachSuccessful',
    type: 'Normal',
    on: 'VolumeAttachment, claim',
    means: 'Attached, after the event above.',
  },
  {
    reason: 'VolumeDetachFailed',
    type: 'Warning',
    on: 'VolumeAttachment, claim',
    means: 'The same for detaching.',
  },
  {
    reason: 'VolumeDetachBlocked',
    type: 'Warning',
    on: 'VolumeAttachment',
    means:
      'The PersistentVolume is gone, and with it the volume handle that the driver needs. Not retried until it is back.',
  },
  {
    reason: 'VolumeDetachSuccessful',
    type: 'Normal',
    on: 'VolumeAttachment, claim',
    means: 'Detached, after one of the events above.',
  },
  { reason: 'LeaderElection', type: 'Normal', on: 'Lease', means: 'A replica became leader or stopped leading.' },
]

export function eventTable(): string {
  return table(
    ['reason', 'type', 'on', 'means'],
    EVENTS.map(({ reason, type, on, means }) => [code(reason), type, on, means]),
  )
}
