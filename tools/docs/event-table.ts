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
    means: 'A try failed; the message holds the words of the driver. It is tried again.',
  },
  { reason: 'VolumeModify', type: 'Normal', on: 'claim', means: 'The driver is asked to modify the volume.' },
  { reason: 'VolumeModifySuccessful', type: 'Normal', on: 'claim', means: 'Done.' },
  {
    reason: 'VolumeModifyFailed',
    type: 'Warning',
    on: 'claim',
    means: 'A try failed, or the VolumeAttributesClass does not exist.',
  },
  { reason: 'VolumeModifyCanceled', type: 'Normal', on: 'claim', means: 'The claim no longer asks for another class.' },
  { reason: 'LeaderElection', type: 'Normal', on: 'Lease', means: 'A replica became leader or stopped leading.' },
]

export function eventTable(): string {
  return table(
    ['reason', 'type', 'on', 'means'],
    EVENTS.map(({ reason, type, on, means }) => [code(reason), type, on, means]),
  )
}
