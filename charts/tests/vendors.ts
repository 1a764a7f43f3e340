import type { PolicyRule } from '@csi-sidecars/kube-types'
import type { AppName } from '../tools/flag-keys.ts'

/**
 * The arguments and the permissions of the two sidecars in public CSI drivers. The sources are the manifests and charts
 * of August 2026, for ceph-csi of October 2024.
 */

export interface Vendor {
  readonly name: string
  /** The value of $(ADDRESS) in the vendor's containers. If it is missing, the default of --csi-address applies. */
  readonly address?: string
  /** Arguments of the containers of attacher and resizer. A vendor may have only one of the two. */
  readonly args: Readonly<Partial<Record<AppName, readonly string[]>>>
  /** The rules of all roles of the vendor's account, limited to resources that the sidecars use. */
  readonly rules: readonly PolicyRule[]
  /** Resources that only our chart grants, because only drivers that modify volumes need them. */
  readonly lacks?: readonly string[]
}

const wordsOf = (text: string): readonly string[] => text.trim().split(/\s+/)

const READ = 'get list watch'
const LEASES = ['coordination.k8s.io', 'leases', 'get watch list delete update create'] as const
const EVENTS = ['', 'events', 'list watch create update patch'] as const
const CLASSES = ['storage.k8s.io', 'volumeattributesclasses', READ] as const

type Right = readonly [group: string, resource: string, verbs: string]

function rights(...all: readonly Right[]): readonly PolicyRule[] {
  return all.map(([group, resource, verbs]) => ({ apiGroups: [group], resources: [resource], verbs: verbs.split(' ') }))
}

/** The rules in the manifests of the Go sidecars. */
const ORIGINAL: readonly Right[] = [
  ['', 'persistentvolumes', `${READ} patch`],
  ['', 'persistentvolumeclaims', READ],
  ['', 'persistentvolumeclaims/status', 'patch'],
  ['', 'pods', READ],
  ['storage.k8s.io', 'csinodes', READ],
  ['storage.k8s.io', 'volumeattachments', `${READ} patch`],
  ['storage.k8s.io', 'volumeattachments/status', 'patch'],
  EVENTS,
  LEASES,
]

export const VENDORS: readonly Vendor[] = [
  {
    name: 'aws-ebs',
    address: '/var/lib/csi/sockets/pluginproxy/csi.sock',
    args: {
      attacher: wordsOf(`--timeout=6m --csi-address=$(ADDRESS) --v=2 --leader-election=true --kube-api-qps=20
        --kube-api-burst=100 --worker-threads=100 --retry-interval-max=5m
        --feature-gates=MutableCSINodeAllocatableCount=true`),
      resizer: wordsOf(`--timeout=60s --extra-modify-metadata --csi-address=$(ADDRESS) --v=2
        --handle-volume-inuse-error=false --leader-election=true --kube-api-qps=20 --kube-api-burst=100 --workers=100
        --retry-interval-max=30m`),
    },
    rules: rights(...ORIGINAL, CLASSES),
  },
  {
    name: 'azuredisk',
    address: '/csi/csi.sock',
    args: {
      attacher: wordsOf(`-v=2 -csi-address=$(ADDRESS) -timeout=1200s -leader-election
        --leader-election-namespace=kube-system -worker-threads=1000 -kube-api-qps=200 -kube-api-burst=400`),
      resizer: wordsOf(`-csi-address=$(ADDRESS) -v=2 -leader-election --leader-election-namespace=kube-system
        -handle-volume-inuse-error=false -feature-gates=RecoverVolumeExpansionFailure=true,VolumeAttributesClass=true
        -timeout=240s --retry-interval-max=30m`),
    },
    rules: rights(
      ['', 'persistentvolumes', `${READ} update patch`],
      ['', 'persistentvolumeclaims', READ],
      ['', 'persistentvolumeclaims/status', 'update patch'],
      ['', 'pods', READ],
      ['', 'secrets', 'get list'],
      ['storage.k8s.io', 'csinodes', READ],
      ['storage.k8s.io', 'volumeattachments', `${READ} update patch`],
      ['storage.k8s.io', 'volumeattachments/status', `${READ} update patch`],
      CLASSES,
      EVENTS,
      LEASES,
    ),
  },
  {
    name: 'ceph-rbd',
    address: 'unix:///csi/csi-provisioner.sock',
    args: {
      attacher: wordsOf(`--v=1 --csi-address=$(ADDRESS) --leader-election=true --retry-interval-start=500ms
        --default-fstype=ext4 --http-endpoint=$(POD_IP):8093`),
      resizer: wordsOf(`--csi-address=$(ADDRESS) --v=1 --timeout=150s --leader-election --retry-interval-start=500ms
        --handle-volume-inuse-error=false --feature-gates=RecoverVolumeExpansionFailure=true
        --http-endpoint=$(POD_IP):8091`),
    },
    rules: rights(
      ['', 'persistentvolumes', `${READ} create update delete patch`],
      ['', 'persistentvolumeclaims', `${READ} update`],
      ['', 'persistentvolumeclaims/status', 'update patch'],
      ['', 'secrets', READ],
      ['storage.k8s.io', 'csinodes', READ],
      ['storage.k8s.io', 'volumeattachments', `${READ} update patch`],
      ['storage.k8s.io', 'volumeattachments/status', 'patch'],
      EVENTS,
      LEASES,
    ),
    lacks: ['volumeattributesclasses'],
  },
  {
    name: 'hetzner',
    args: { attacher: wordsOf('--default-fstype=ext4'), resizer: [] },
    rules: rights(
      ['', 'persistentvolumes', `${READ} create update delete patch`],
      ['', 'persistentvolumeclaims', `${READ} update patch`],
      ['', 'persistentvolumeclaims/status', `${READ} update patch`],
      ['', 'pods', READ],
      ['storage.k8s.io', 'csinodes', READ],
      ['storage.k8s.io', 'volumeattachments', `${READ} update patch`],
      ['storage.k8s.io', 'volumeattachments/status', 'patch'],
      CLASSES,
      EVENTS,
    ),
  },
  {
    name: 'democratic-csi',
    address: '/csi-data/csi.sock',
    args: {
      attacher: wordsOf(`--v=5 --leader-election --leader-election-namespace=$(POD_NAMESPACE) --timeout=90s
        --worker-threads=10 --csi-address=$(ADDRESS)`),
      resizer: wordsOf(`--v=5 --leader-election --leader-election-namespace=$(POD_NAMESPACE) --timeout=90s --workers=10
        --csi-address=$(ADDRESS)`),
    },
    rules: rights(
      ['', 'persistentvolumes', 'create delete get list watch update patch'],
      ['', 'persistentvolumeclaims', `${READ} update patch`],
      ['', 'persistentvolumeclaims/status', `${READ} update patch`],
      ['', 'pods', READ],
      ['', 'secrets', 'get list'],
      ['storage.k8s.io', 'csinodes', READ],
      ['storage.k8s.io', 'volumeattachments', `${READ} update patch`],
      ['storage.k8s.io', 'volumeattachments/status', 'patch'],
      EVENTS,
      LEASES,
    ),
    lacks: ['volumeattributesclasses'],
  },
  {
    name: 'cinder',
    address: '/var/lib/csi/sockets/pluginproxy/csi.sock',
    args: {
      attacher: wordsOf('--csi-address=$(ADDRESS) --timeout=3m --leader-election=true --default-fstype=ext4'),
      resizer: wordsOf(`--csi-address=$(ADDRESS) --timeout=3m --handle-volume-inuse-error=false
        --leader-election=true`),
    },
    rules: rights(...ORIGINAL),
    lacks: ['volumeattributesclasses'],
  },
  {
    name: 'nfs',
    address: '/csi/csi.sock',
    args: {
      resizer: wordsOf(`-csi-address=$(ADDRESS) -v=2 -leader-election --leader-election-namespace=$(POD_NAMESPACE)
        -handle-volume-inuse-error=false -feature-gates=VolumeAttributesClass=false`),
    },
    rules: rights(
      ['', 'persistentvolumes', `${READ} update patch`],
      ['', 'persistentvolumeclaims', READ],
      ['', 'persistentvolumeclaims/status', 'update patch'],
      EVENTS,
      LEASES,
    ),
  },
  {
    name: 'vsphere',
    address: '/csi/csi.sock',
    args: {
      attacher: wordsOf(`--v=4 --timeout=300s --csi-address=$(ADDRESS) --leader-election
        --leader-election-lease-duration=120s --leader-election-renew-deadline=60s
        --leader-election-retry-period=30s --kube-api-qps=100 --kube-api-burst=100 --worker-threads=100`),
      resizer: wordsOf(`--v=4 --timeout=300s --handle-volume-inuse-error=false --csi-address=$(ADDRESS)
        --kube-api-qps=100 --kube-api-burst=100 --leader-election --leader-election-lease-duration=120s
        --leader-election-renew-deadline=60s --leader-election-retry-period=30s
        --feature-gates=RecoverVolumeExpansionFailure=false`),
    },
    rules: rights(
      ['', 'persistentvolumes', `${READ} create update delete patch`],
      ['', 'persistentvolumeclaims', `${READ} update`],
      ['', 'persistentvolumeclaims/status', 'patch'],
      ['', 'pods', READ],
      ['storage.k8s.io', 'csinodes', READ],
      ['storage.k8s.io', 'volumeattachments', `${READ} patch`],
      ['storage.k8s.io', 'volumeattachments/status', 'patch'],
      EVENTS,
      LEASES,
    ),
    lacks: ['volumeattributesclasses'],
  },
  {
    name: 'longhorn',
    address: '/csi/csi.sock',
    args: {
      attacher: wordsOf(`--v=2 --csi-address=$(ADDRESS) --timeout=1m50s --retry-interval-max=1m --leader-election
        --leader-election-namespace=$(POD_NAMESPACE) --kube-api-qps=50 --kube-api-burst=100 --http-endpoint=:8000`),
      // The vendor gives --leader-election-namespace twice.
      resizer: wordsOf(`--v=2 --csi-address=$(ADDRESS) --timeout=1m50s --retry-interval-max=1m --leader-election
        --leader-election-namespace=$(POD_NAMESPACE) --leader-election-namespace=$(POD_NAMESPACE) --kube-api-qps=50
        --kube-api-burst=100 --http-endpoint=:8000 --handle-volume-inuse-error=false
        --feature-gates=RecoverVolumeExpansionFailure=false`),
    },
    rules: rights(
      ['', 'persistentvolumes', '*'],
      ['', 'persistentvolumeclaims', '*'],
      ['', 'persistentvolumeclaims/status', '*'],
      ['', 'pods', `${READ} delete deletecollection`],
      ['', 'secrets', READ],
      ['', 'events', '*'],
      ['storage.k8s.io', 'csinodes', '*'],
      ['storage.k8s.io', 'volumeattachments', '*'],
      ['storage.k8s.io', 'volumeattachments/status', '*'],
      ['storage.k8s.io', 'volumeattributesclasses', '*'],
      ['coordination.k8s.io', 'leases', '*'],
    ),
  },
]
