import { MINUTE, SECOND } from '@csi-sidecars/base'
import type { Flag } from '@csi-sidecars/sidecar'

/** The flags of the attacher, in addition to the standard flags. Names, types and defaults never change. */
export const ATTACHER_FLAGS = [
  {
    name: 'default-fstype',
    type: 'string',
    default: '',
    help: 'File system type for PersistentVolumes that name none.',
    chart: { key: 'defaultFsType', testValue: 'xfs' },
  },
  {
    name: 'max-entries',
    type: 'int',
    default: 0,
    help: 'Maximum number of volumes in a page of ListVolumes. 0: the driver decides.',
    chart: { key: 'maxEntries', testValue: 0, minimum: 0 },
  },
  {
    name: 'max-grpc-log-length',
    type: 'int',
    default: -1,
    help: 'Maximum length of a response of the driver in a log line of -v=5. 0 and less: no limit.',
    chart: { key: 'maxGrpcLogLength', testValue: -1, minimum: -1 },
  },
  {
    name: 'max-inflight-per-node',
    type: 'int',
    default: 0,
    help: 'Maximum number of attaches and detaches that run at the same time for one node. 0: no limit.',
    chart: { key: 'maxInflightPerNode', testValue: 4, minimum: 0 },
  },
  {
    name: 'reconcile-confirmations',
    type: 'int',
    default: 2,
    help:
      'How many consecutive listings of the driver must disagree with a VolumeAttachment before it is attached or ' +
      'detached again. 1: one is enough.',
    chart: { key: 'reconcileConfirmations', testValue: 3, minimum: 1 },
  },
  {
    name: 'reconcile-sync',
    type: 'duration',
    default: MINUTE,
    help: 'Pause between two comparisons of the VolumeAttachments with what the driver lists. Longer if listing is slow.',
    chart: { key: 'reconcileSync', testValue: '1.5h' },
  },
  {
    name: 'recover-lost-volumes',
    type: 'bool',
    default: false,
    help:
      'Record the handle and the uid of its volume on each VolumeAttachment, and detach with them when the ' +
      'PersistentVolume is gone. Off: such a VolumeAttachment is blocked.',
    chart: { key: 'recoverLostVolumes', testValue: true },
  },
  {
    name: 'resync',
    type: 'duration',
    default: 10 * MINUTE,
    help: 'How often every VolumeAttachment is checked without a change. 0: never.',
    chart: { key: 'resync', testValue: '0s' },
  },
  {
    name: 'timeout',
    type: 'duration',
    default: 15 * SECOND,
    help: 'Longest wait for the driver: for each attach, detach, Probe and page of ListVolumes.',
    chart: { key: 'timeout', testValue: '36s' },
  },
  {
    name: 'worker-threads',
    aliases: ['workers'],
    type: 'uint',
    default: 10,
    help:
      'How many volumes are attached or detached at the same time. When detaches or retried attaches occupy all ' +
      'workers, other attaches still start: up to 40 % more calls. With 1 worker there are no more.',
    chart: { key: 'workerThreads', testValue: 1200, minimum: 1 },
  },
] as const satisfies readonly Flag[]
