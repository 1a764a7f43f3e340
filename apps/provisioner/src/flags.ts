import { MINUTE, SECOND } from '@csi-sidecars/base'
import type { Flag } from '@csi-sidecars/sidecar'

/** The flags of the provisioner, without the flags that every sidecar has. Names, types and defaults never change. */
export const PROVISIONER_FLAGS = [
  {
    name: 'capacity-for-immediate-binding',
    type: 'bool',
    default: false,
    help: 'Publish the capacity for classes with immediate binding, too.',
    chart: { key: 'capacity.immediateBinding', testValue: true },
  },
  {
    name: 'capacity-ownerref-level',
    type: 'int',
    default: 1,
    help:
      'The owner of CSIStorageCapacity objects, as the number of controllers above the pod of $POD_NAME and ' +
      '$NAMESPACE: 0 is the pod, 1 a StatefulSet or DaemonSet, 2 a Deployment. -1: no owner.',
    chart: { key: 'capacity.ownerLevel', testValue: 0, template: 'handwritten' },
  },
  {
    name: 'capacity-poll-interval',
    type: 'duration',
    default: MINUTE,
    help: 'How often the driver is asked for its capacity without a cause.',
    chart: { key: 'capacity.pollInterval', testValue: '41m' },
  },
  {
    name: 'capacity-threads',
    type: 'uint',
    default: 1,
    help: 'How many CSIStorageCapacity objects are worked on at the same time.',
    chart: { key: 'capacity.threads', testValue: 3, minimum: 1 },
  },
  {
    name: 'cloning-protection-threads',
    type: 'uint',
    default: 1,
    help: 'How many deleted source claims of clones are released at the same time.',
    chart: { key: 'cloningProtectionThreads', testValue: 2, minimum: 1 },
  },
  {
    name: 'controller-publish-readonly',
    type: 'bool',
    default: false,
    help: 'Mark PersistentVolumes as read-only if ReadOnlyMany is the only access mode of their claim.',
    chart: { key: 'controllerPublishReadOnly', testValue: true },
  },
  {
    name: 'default-fstype',
    type: 'string',
    default: '',
    help: 'File system of volumes whose class names none.',
    chart: { key: 'defaultFSType', testValue: 'ext4' },
  },
  {
    name: 'enable-capacity',
    type: 'bool',
    default: false,
    help: 'Publish the capacity of the driver as CSIStorageCapacity objects in $NAMESPACE.',
    chart: { key: 'capacity.enabled', testValue: true },
  },
  {
    name: 'enable-pprof',
    type: 'bool',
    default: false,
    help: 'Serve a page at /debug/pprof/ that says that this process has no profiles of Go.',
    chart: { notInChartBecause: 'the process has no profiles of Go' },
  },
  {
    name: 'extra-create-metadata',
    type: 'bool',
    default: false,
    help: 'Send the names of claim and PersistentVolume to the driver with each creation.',
    chart: { key: 'extraCreateMetadata', testValue: true },
  },
  {
    name: 'finalize-claims',
    type: 'bool',
    default: false,
    help:
      'Put a finalizer on each claim before its volume is created, and remove it when the PersistentVolume is stored ' +
      'or the creation has failed. No volume is then forgotten when this process is killed, but a deleted claim ' +
      'stays until the driver has answered.',
    chart: { key: 'finalizeClaims', testValue: true },
  },
  {
    name: 'immediate-topology',
    type: 'bool',
    default: true,
    help: 'Send the topologies of all nodes with the driver for volumes with immediate binding. false: send none.',
    chart: { key: 'immediateTopology', testValue: false },
  },
  {
    name: 'kube-api-capacity-burst',
    type: 'int',
    default: 5,
    help: 'Writes of CSIStorageCapacity objects that may exceed --kube-api-capacity-qps for a moment.',
    chart: { key: 'capacity.burst', testValue: 2000000, minimum: 1 },
  },
  {
    name: 'kube-api-capacity-qps',
    type: 'float',
    default: 1,
    help:
      'Writes of CSIStorageCapacity objects a second. With neither this flag nor --kube-api-capacity-burst, the rate ' +
      'follows what the API server grants.',
    chart: { key: 'capacity.qps', testValue: 12.5 },
  },
  {
    name: 'master',
    type: 'string',
    default: '',
    help: 'URL of the API server. Overrides the one in --kubeconfig.',
    chart: { key: 'master', testValue: 'https://api.example.com' },
  },
  {
    name: 'parameter-templates',
    type: 'bool',
    default: false,
    help: 'Replace variables in the parameters of classes by names, labels and annotations of the claim.',
    chart: { key: 'parameterTemplates', testValue: true },
  },
  {
    name: 'prevent-volume-mode-conversion',
    type: 'bool',
    default: true,
    help: 'Refuse to restore a snapshot with another volume mode, unless its content allows it.',
    chart: { key: 'preventVolumeModeConversion', testValue: false },
  },
  {
    name: 'node-deployment',
    type: 'bool',
    default: false,
    help: 'Run beside the driver on each node, without leader election, and act on volumes of this node ($NODE_NAME).',
    chart: { key: 'nodeDeployment.enabled', testValue: false },
  },
  {
    name: 'node-deployment-base-delay',
    type: 'duration',
    default: 20 * SECOND,
    help: 'Longest first wait before this node tries to take a claim with immediate binding.',
    chart: { key: 'nodeDeployment.baseDelay', testValue: '42s' },
  },
  {
    name: 'node-deployment-immediate-binding',
    type: 'bool',
    default: true,
    help: 'Take claims with immediate binding, too.',
    chart: { key: 'nodeDeployment.immediateBinding', testValue: false },
  },
  {
    name: 'node-deployment-max-delay',
    type: 'duration',
    default: MINUTE,
    help: 'Longest wait before this node tries again to take a claim.',
    chart: { key: 'nodeDeployment.maxDelay', testValue: '43s' },
  },
  {
    name: 'node-deployment-reschedule-after',
    type: 'duration',
    default: 5 * MINUTE,
    help:
      'With --finalize-claims: how long a claim waits for a node without the driver, at least, until a provisioner of ' +
      'another node gives the claim back to the scheduler. 0: never.',
    chart: { key: 'nodeDeployment.rescheduleAfter', testValue: '44m' },
  },
  {
    name: 'snapshot-orphan-sweep-interval',
    type: 'duration',
    default: 5 * MINUTE,
    help: 'How often snapshots are searched for finalizers of forgotten restores. 0: never.',
    chart: { key: 'snapshotOrphanSweepInterval', testValue: '40m' },
  },
  {
    name: 'strict-topology',
    type: 'bool',
    default: false,
    help: 'Send the topology of the selected node only, instead of the topologies of all nodes with its keys.',
    chart: { key: 'strictTopology', testValue: true },
  },
  {
    name: 'timeout',
    type: 'duration',
    default: 10 * SECOND,
    help: 'Longest wait for each call to the CSI driver.',
    chart: { key: 'timeout', testValue: '36s' },
  },
  {
    name: 'unreferenced-check-interval',
    type: 'duration',
    default: 60 * MINUTE,
    help: 'How often the driver is asked to list its volumes, to find those that no object names. Nothing is deleted. 0: never.',
    chart: { key: 'unreferenced.checkInterval', testValue: '38m' },
  },
  {
    name: 'unreferenced-handle-filter',
    type: 'string',
    default: '',
    help:
      'The text in the handles of volumes that belong to this cluster, for example the value of --volume-name-prefix. ' +
      'Empty: all volumes of the back end count, also those of other clusters.',
    chart: { key: 'unreferenced.handleFilter', testValue: 'cluster-a' },
  },
  {
    name: 'volume-name-prefix',
    type: 'string',
    default: 'pvc',
    help: 'Start of the names of volumes.',
    chart: { key: 'volumeNamePrefix', testValue: 'vol' },
  },
  {
    name: 'volume-name-uuid-length',
    type: 'int',
    default: -1,
    help: 'How many characters of the UID of a claim the name of its volume has, 1 to 32. -1: all of them.',
    chart: { key: 'volumeNameUUIDLength', testValue: 16, minimum: -1 },
  },
  {
    name: 'worker-threads',
    type: 'uint',
    default: 100,
    help:
      'How many claims, and as many PersistentVolumes, are worked on at the same time. When retries occupy all ' +
      'workers, others still start: up to 40 % more. 0: no work is done.',
    chart: { key: 'workerThreads', testValue: 7, minimum: 1 },
  },
] as const satisfies readonly Flag[]
