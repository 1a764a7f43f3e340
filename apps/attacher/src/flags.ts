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
    chart: { key: 'defaultFsType', sample: 'xfs' },
  },
  {
    name: 'max-entries',
    type: 'int',
    default: 0,
    help: 'Most volumes that a page of ListVolumes may hold. 0: the driver decides.',
    chart: { key: 'maxEntries', sample: 0, minimum: 0 },
  },
  {
    name: 'max-grpc-log-length',
    type: 'int',
    default: -1,
    help: 'Longest response of the driver in a log line of -v=5. 0 and less: no limit.',
    chart: { key: 'maxGrpcLogLength', sample: -1, minimum: -1 },
  },
  {
    name: 'max-inflight-per-node',
    type: 'int',
    default: 0,
    help: 'Most attaches and detaches of one node at the same time. 0: no limit.',
    chart: { key: 'maxInflightPerNode', sample: 4, minimum: 0 },
  },
  {
    name: 'reconcile-confirmations',
    type: 'int',
    default: 2,
    help:
      'How many listings of the driver in a row must disagree with a VolumeAttachment before it is attached or ' +
      'detached again. 1: the first acts.',
    chart: { key: 'reconcileConfirmations', sample: 3, minimum: 1 },
  },
  {
    name: 'reconcile-sync',
    type: 'duration',
    default: MINUTE,
    help: 'Pause between two comparisons of the VolumeAttachments with what the driver lists. Longer if listing is slow.',
    chart: { key: 'reconcileSync', sample: '1.5h' },
  },
  {
    name: 'recover-lost-volumes',
    type: 'bool',
    default: false,
    help:
      'Note on each VolumeAttachment the handle and the uid of its volume, and detach by them once the PersistentVolume ' +
      'is gone. Off: such a VolumeAttachment is blocked.',
    chart: { key: 'recoverLostVolumes', sample: true },
  },
  {
    name: 'resync',
    type: 'duration',
    default: 10 * MINUTE,
    help: 'How often every VolumeAttachment is looked at again, without a cause. 0: never.',
    chart: { key: 'resync', sample: '0s' },
  },
  {
    name: 'timeout',
    type: 'duration',
    default: 15 * SECOND,
    help: 'Longest wait for the driver: for each attach, detach, Probe and page of ListVolumes.',
    chart: { key: 'timeout', sample: '36s' },
  },
  {
    name: 'worker-threads',
    aliases: ['workers'],
    type: 'uint',
    default: 10,
    help:
      'How many volumes are attached or detached at the same time. When detaches, or attaches that are tried again, ' +
      'occupy all of these, other attaches still start: 40 % more at most, with 1 none.',
    chart: { key: 'workerThreads', sample: 1200, minimum: 1 },
  },
] as const satisfies readonly Flag[]
