import { MINUTE } from '@csi-sidecars/base'
import type { Flag } from '@csi-sidecars/sidecar'

/** The flags of the snapshotter, without the flags that every sidecar has. Names, types and defaults never change. */
export const SNAPSHOTTER_FLAGS = [
  {
    name: 'extra-create-metadata',
    type: 'bool',
    default: false,
    help: 'Send the names of VolumeSnapshot and VolumeSnapshotContent to the driver with each creation.',
    chart: { key: 'extraCreateMetadata', testValue: true },
  },
  {
    name: 'groupsnapshot-name-prefix',
    type: 'string',
    default: 'groupsnapshot',
    help: 'Prefix of the names of group snapshots that the driver creates.',
    chart: { key: 'groupSnapshotNamePrefix', testValue: 'group' },
  },
  {
    name: 'groupsnapshot-name-uuid-length',
    type: 'int',
    default: -1,
    help: 'How many characters of the uid follow the prefix of group snapshots, without dashes. -1: the whole uid.',
    chart: { key: 'groupSnapshotNameUuidLength', testValue: 16, minimum: -1 },
  },
  {
    name: 'node-deployment',
    type: 'bool',
    default: false,
    help:
      'Run beside the driver on each node, without leader election, and act only on contents whose label ' +
      'snapshot.storage.kubernetes.io/managed-by names this node. The environment variable NODE_NAME names the node.',
    chart: { key: 'nodeDeployment', testValue: false },
  },
  {
    name: 'parameter-templates',
    type: 'bool',
    default: false,
    help:
      'Replace variables in the parameters of classes by names, labels and annotations of the VolumeSnapshot or ' +
      'VolumeGroupSnapshot.',
    chart: { key: 'parameterTemplates', testValue: true },
  },
  {
    name: 'resync-period',
    type: 'duration',
    default: 15 * MINUTE,
    help: 'How often every content is checked without a change. 0: never.',
    chart: { key: 'resyncPeriod', testValue: '39m' },
  },
  {
    name: 'snapshot-name-prefix',
    type: 'string',
    default: 'snapshot',
    help: 'Prefix of the names of snapshots that the driver creates.',
    chart: { key: 'snapshotNamePrefix', testValue: 'snap' },
  },
  {
    name: 'snapshot-name-uuid-length',
    type: 'int',
    default: -1,
    help: 'How many characters of the uid follow the prefix of snapshots, without dashes. -1: the whole uid.',
    chart: { key: 'snapshotNameUuidLength', testValue: 16, minimum: -1 },
  },
  {
    name: 'timeout',
    type: 'duration',
    default: MINUTE,
    help: 'Longest wait for each call of the driver.',
    chart: { key: 'timeout', testValue: '36s' },
  },
  {
    name: 'unreferenced-check-interval',
    type: 'duration',
    default: 60 * MINUTE,
    help: 'How often the driver is asked to list its snapshots, to find those that no object names. Nothing is deleted. 0: never.',
    chart: { key: 'unreferenced.checkInterval', testValue: '38m' },
  },
  {
    name: 'unreferenced-handle-filter',
    type: 'string',
    default: '',
    help:
      'The text in the handles of snapshots that belong to this cluster. Empty: all snapshots of the back end count, ' +
      'also those of other clusters.',
    chart: { key: 'unreferenced.handleFilter', testValue: 'cluster-a' },
  },
  {
    name: 'worker-threads',
    type: 'int',
    default: 10,
    help: 'How many snapshots, and how many group snapshots, are worked on at the same time. 0: no work is done.',
    chart: { key: 'workerThreads', testValue: 7, minimum: 1 },
  },
] as const satisfies readonly Flag[]
