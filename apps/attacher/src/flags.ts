import type { Flag } from '@csi-sidecars/sidecar'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** The attacher's flags beside those of every sidecar. Names, types and defaults never change. */
export const ATTACHER_FLAGS = [
  {
    name: 'default-fstype',
    type: 'string',
    default: '',
    help: 'File system type to ask the driver for where a PersistentVolume names none.',
  },
  {
    name: 'max-entries',
    type: 'int',
    default: 0,
    help: 'Most volumes that a page of ListVolumes may hold. 0: the driver decides.',
  },
  {
    name: 'max-grpc-log-length',
    type: 'int',
    default: -1,
    help: 'Longest response of the driver in a log line of -v=5. 0 and less: no limit.',
  },
  {
    name: 'max-inflight-per-node',
    type: 'int',
    default: 0,
    help: 'Most attaches and detaches of one node at the same time. 0: no limit.',
  },
  {
    name: 'reconcile-confirmations',
    type: 'int',
    default: 2,
    help:
      'How many listings of the driver in a row must disagree with a VolumeAttachment before it is attached or ' +
      'detached again. 1: the first acts.',
  },
  {
    name: 'reconcile-sync',
    type: 'duration',
    default: MINUTE,
    help: 'Pause between two comparisons of the VolumeAttachments with what the driver lists. Longer if listing is slow.',
  },
  {
    name: 'recover-lost-volumes',
    type: 'bool',
    default: false,
    help:
      'Note on each VolumeAttachment the handle and the uid of its volume, and detach by them once the PersistentVolume ' +
      'is gone. Off: such a VolumeAttachment is blocked.',
  },
  {
    name: 'resync',
    type: 'duration',
    default: 10 * MINUTE,
    help: 'How often every VolumeAttachment is looked at again, without a cause. 0: never.',
  },
  {
    name: 'timeout',
    type: 'duration',
    default: 15 * SECOND,
    help: 'Longest wait for the driver: for each attach, detach, Probe and page of ListVolumes.',
  },
  {
    name: 'worker-threads',
    aliases: ['workers'],
    type: 'uint',
    default: 10,
    help:
      'How many volumes are attached or detached at the same time. When detaches occupy all of these, attaches still ' +
      'start: 40 % more at most, with 1 none.',
  },
] as const satisfies readonly Flag[]
