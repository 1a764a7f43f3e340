import { MINUTE, SECOND } from '@csi-sidecars/base'
import type { Flag } from '@csi-sidecars/sidecar'

/** The resizer's flags, in addition to the flags of every sidecar. Names, types and defaults never change. */
export const RESIZER_FLAGS = [
  {
    name: 'extra-modify-metadata',
    type: 'bool',
    default: false,
    help: 'Send the names of claim and PersistentVolume to the driver with each modification.',
    chart: { key: 'extraModifyMetadata', testValue: true },
  },
  {
    name: 'handle-volume-inuse-error',
    type: 'bool',
    default: true,
    help:
      'When the driver refuses to expand a volume in use, wait until no pod uses its claim. Pods are read only after ' +
      'such a refusal, and only in the namespaces of such claims. With 20 or more of them, all namespaces are read.',
    chart: { key: 'handleVolumeInUseError', testValue: false },
  },
  {
    name: 'master',
    type: 'string',
    default: '',
    help: 'URL of the API server. Overrides the one in --kubeconfig.',
    chart: { key: 'master', testValue: 'https://api.example.com' },
  },
  {
    name: 'modify-timeout',
    type: 'duration',
    default: 10 * SECOND,
    help: 'Longest wait for a modification of a volume. Ignored where --timeout is given.',
    chart: { key: 'modifyTimeout', testValue: '37s' },
  },
  {
    name: 'node-deployment',
    type: 'bool',
    default: false,
    help:
      'Run beside the driver on each node, without leader election, and act only on volumes whose nodeAffinity names ' +
      'this node alone.',
    chart: { key: 'nodeDeployment', testValue: false },
  },
  {
    name: 'node-name',
    type: 'string',
    default: '',
    help: 'Name of the Node for --node-deployment. Empty: the environment variable NODE_NAME.',
    chart: { notInChartBecause: 'the chart sets NODE_NAME' },
  },
  {
    name: 'resize-timeout',
    type: 'duration',
    default: 10 * SECOND,
    help: 'Longest wait for an expansion of a volume. Ignored where --timeout is given.',
    chart: { key: 'resizeTimeout', testValue: '38s' },
  },
  {
    name: 'resync-period',
    type: 'duration',
    default: 10 * MINUTE,
    help: 'How often every claim is checked without a change. 0: never.',
    chart: { key: 'resyncPeriod', testValue: '39m' },
  },
  {
    name: 'timeout',
    type: 'duration',
    default: 10 * SECOND,
    help: 'Longest wait for each Probe. Where it is given, also for each expansion and modification.',
    chart: { key: 'timeout', testValue: '36s' },
  },
  {
    name: 'workers',
    aliases: ['worker-threads'],
    type: 'int',
    default: 10,
    help:
      'How many claims each of the two controllers works on at the same time. When retried claims occupy all workers, ' +
      'others still start: up to 40 % more calls. With 1 worker there are no more. 0: no work is done.',
    chart: { key: 'workers', testValue: 7, minimum: 1 },
  },
] as const satisfies readonly Flag[]
