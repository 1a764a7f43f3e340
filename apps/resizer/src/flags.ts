import type { Flag } from '@csi-sidecars/sidecar'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** The resizer's flags beside those of every sidecar. Names, types and defaults never change. */
export const RESIZER_FLAGS = [
  {
    name: 'extra-modify-metadata',
    type: 'bool',
    default: false,
    help: 'Tell the driver the names of claim and PersistentVolume with each modification.',
    chart: { key: 'extraModifyMetadata', sample: true },
  },
  {
    name: 'handle-volume-inuse-error',
    type: 'bool',
    default: true,
    help:
      'Leave a volume alone that the driver has refused to expand while it is in use, until no pod uses its claim any ' +
      'more. Pods are looked at only after such a refusal, in the namespaces of such claims, from 20 of them on in all.',
    chart: { key: 'handleVolumeInUseError', sample: false },
  },
  {
    name: 'master',
    type: 'string',
    default: '',
    help: 'URL of the API server. Takes the place of the one in --kubeconfig.',
    chart: { key: 'master', sample: 'https://api.example.com' },
  },
  {
    name: 'modify-timeout',
    type: 'duration',
    default: 10 * SECOND,
    help: 'Longest wait for a modification of a volume. Ignored where --timeout is given.',
    chart: { key: 'modifyTimeout', sample: '37s' },
  },
  {
    name: 'resize-timeout',
    type: 'duration',
    default: 10 * SECOND,
    help: 'Longest wait for an expansion of a volume. Ignored where --timeout is given.',
    chart: { key: 'resizeTimeout', sample: '38s' },
  },
  {
    name: 'resync-period',
    type: 'duration',
    default: 10 * MINUTE,
    help: 'How often every claim is looked at again, without a cause. 0: never.',
    chart: { key: 'resyncPeriod', sample: '39m' },
  },
  {
    name: 'timeout',
    type: 'duration',
    default: 10 * SECOND,
    help: 'Longest wait for each Probe. Where it is given, also for each expansion and modification.',
    chart: { key: 'timeout', sample: '36s' },
  },
  {
    name: 'workers',
    aliases: ['worker-threads'],
    type: 'int',
    default: 10,
    help:
      'How many claims are worked on at the same time, by each of the two controllers. When claims that are tried again ' +
      'occupy all of these, others still start: 40 % more at most, with 1 none. 0: none.',
    chart: { key: 'workers', sample: 7, minimum: 1 },
  },
] as const satisfies readonly Flag[]
