import type { PolicyRule } from '@csi-sidecars/kube-types'

/** The facts about the manifest of a driver that its tests need: tags of images, and the rules of its roles. */
export interface OriginalManifest {
  /** The images by sidecar, as the manifest names them. */
  readonly images: Readonly<Record<string, string>>
  /** The program that a container starts, if the image has several. */
  readonly starts?: (sidecar: string) => string
  /** The rules of the ClusterRoles, without rules for other programs. */
  readonly clusterRules: readonly PolicyRule[]
  /** The rules of the Role in the namespace of the pod. */
  readonly rules: readonly PolicyRule[]
}

type Right = readonly [group: string, resources: string, verbs: string]

function rights(...all: readonly Right[]): readonly PolicyRule[] {
  return all.map(([group, resources, verbs]) => ({
    apiGroups: [group],
    resources: resources.split(' '),
    verbs: verbs.split(' '),
  }))
}

const STORAGE = 'storage.k8s.io'
const SNAPSHOT = 'snapshot.storage.k8s.io'
const GROUP_SNAPSHOT = 'groupsnapshot.storage.k8s.io'
const READ = 'get list watch'
const LEASES: Right = ['coordination.k8s.io', 'leases', 'get watch list delete update create']
const EVENTS: Right = ['', 'events', 'list watch create update patch']

/** The role of the snapshotter in the manifests of the Go sidecar. */
const SNAPSHOTTER: readonly Right[] = [
  [SNAPSHOT, 'volumesnapshotclasses', READ],
  [SNAPSHOT, 'volumesnapshotcontents', `${READ} update patch`],
  [SNAPSHOT, 'volumesnapshotcontents/status', 'update patch'],
  [GROUP_SNAPSHOT, 'volumegroupsnapshotclasses', READ],
  [GROUP_SNAPSHOT, 'volumegroupsnapshotcontents', `${READ} update patch`],
  [GROUP_SNAPSHOT, 'volumegroupsnapshotcontents/status', 'update patch'],
]

/** The roles of provisioner and resizer in the manifests of the Go sidecars. */
const PROVISIONER_AND_RESIZER: readonly Right[] = [
  ['', 'persistentvolumes', `${READ} create patch delete`],
  ['', 'persistentvolumeclaims', `${READ} update`],
  ['', 'persistentvolumeclaims/status', 'patch'],
  [STORAGE, 'storageclasses csinodes volumeattachments', READ],
  EVENTS,
  [SNAPSHOT, 'volumesnapshots', `${READ} update`],
  [SNAPSHOT, 'volumesnapshotcontents', 'get list'],
  ['', 'nodes pods', READ],
  [STORAGE, 'volumeattributesclasses', READ],
]

const tagged = (registry: string, tags: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(tags).map(([sidecar, tag]) => [sidecar, `${registry}/csi-${sidecar}:${tag}`]))
const SIG_STORAGE = 'registry.k8s.io/sig-storage'

/** Six drivers, by their names in charts/tests/public-drivers.json. ceph-csi is of October 2024, the others of 2026. */
export const ORIGINAL_MANIFESTS: Readonly<Record<string, OriginalManifest>> = {
  vsphere: {
    images: tagged(SIG_STORAGE, {
      attacher: 'v4.12.0',
      resizer: 'v2.2.1',
      provisioner: 'v4.0.1',
      snapshotter: 'v8.6.0',
    }),
    clusterRules: rights(
      ['', 'nodes pods', READ],
      ['', 'persistentvolumeclaims', `${READ} update`],
      ['', 'persistentvolumeclaims/status', 'patch'],
      ['', 'persistentvolumes', `${READ} create update delete patch`],
      ['', 'events', `${READ} create update patch`],
      LEASES,
      [STORAGE, 'storageclasses csinodes', READ],
      [STORAGE, 'volumeattachments', `${READ} patch`],
      [STORAGE, 'volumeattachments/status', 'patch'],
      [SNAPSHOT, 'volumesnapshots', 'get list'],
      [SNAPSHOT, 'volumesnapshotclasses', READ],
      [SNAPSHOT, 'volumesnapshotcontents', `${READ} create update delete patch`],
      [SNAPSHOT, 'volumesnapshotcontents/status', 'update patch'],
    ),
    rules: [],
  },
  'ceph-rbd': {
    images: tagged(SIG_STORAGE, {
      attacher: 'v4.6.1',
      resizer: 'v1.11.1',
      provisioner: 'v5.0.1',
      snapshotter: 'v8.0.1',
    }),
    clusterRules: rights(
      ['', 'secrets', READ],
      ['', 'persistentvolumes', `${READ} create update delete patch`],
      ['', 'persistentvolumeclaims', `${READ} update`],
      ['', 'persistentvolumeclaims/status', 'update patch'],
      [STORAGE, 'storageclasses csinodes', READ],
      EVENTS,
      [STORAGE, 'volumeattachments', `${READ} update patch`],
      [STORAGE, 'volumeattachments/status', 'patch'],
      [SNAPSHOT, 'volumesnapshots', 'get list patch'],
      [SNAPSHOT, 'volumesnapshotcontents', `${READ} create update delete patch`],
      [SNAPSHOT, 'volumesnapshotclasses', READ],
      [SNAPSHOT, 'volumesnapshotcontents/status', 'update patch'],
      ['', 'nodes', READ],
    ),
    rules: rights(LEASES),
  },
  'aws-ebs': {
    images: tagged('public.ecr.aws/csi-components', {
      attacher: 'v4.12.0-eksbuild.5',
      resizer: 'v2.2.1-eksbuild.3',
      provisioner: 'v6.3.0-eksbuild.4',
      snapshotter: 'v8.6.0-eksbuild.5',
    }),
    clusterRules: rights(
      ...PROVISIONER_AND_RESIZER,
      ...SNAPSHOTTER,
      [STORAGE, 'volumeattachments', 'patch'],
      [STORAGE, 'volumeattachments/status', 'patch'],
    ),
    rules: rights(LEASES),
  },
  longhorn: {
    images: tagged('longhornio', {
      attacher: 'v4.11.0-20260428',
      resizer: 'v2.1.0-20260428',
      provisioner: 'v5.3.0-20260428',
      snapshotter: 'v8.5.0-20260428',
    }),
    clusterRules: rights(
      ['', 'pods', `${READ} delete deletecollection`],
      ['', 'secrets', READ],
      ['', 'events persistentvolumes persistentvolumeclaims persistentvolumeclaims/status nodes', '*'],
      ['apps', 'replicasets', READ],
      [STORAGE, 'storageclasses volumeattachments volumeattachments/status volumeattributesclasses', '*'],
      [STORAGE, 'csinodes csistoragecapacities', '*'],
      [SNAPSHOT, 'volumesnapshotclasses volumesnapshots volumesnapshotcontents volumesnapshotcontents/status', '*'],
      ['coordination.k8s.io', 'leases', READ],
    ),
    rules: rights(
      ['', 'pods events secrets persistentvolumeclaims persistentvolumeclaims/status', '*'],
      ['coordination.k8s.io', 'leases', '*'],
    ),
  },
  topolvm: {
    images: Object.fromEntries(
      ['provisioner', 'resizer', 'snapshotter'].map((name) => [name, 'ghcr.io/topolvm/topolvm-with-sidecar:0.41.0']),
    ),
    starts: (sidecar) => `/csi-${sidecar}`,
    clusterRules: rights(...PROVISIONER_AND_RESIZER, ...SNAPSHOTTER),
    rules: rights(
      ['coordination.k8s.io', 'leases', `${READ} create update patch delete`],
      ['', 'events', 'create patch'],
      [STORAGE, 'csistoragecapacities', `${READ} create update patch delete`],
      ['', 'pods', 'get'],
      ['apps', 'replicasets', 'get'],
    ),
  },
  'democratic-csi': {
    images: tagged(SIG_STORAGE, {
      attacher: 'v4.4.0',
      resizer: 'v1.9.0',
      provisioner: 'v3.6.0',
      snapshotter: 'v8.2.1',
    }),
    clusterRules: rights(
      ['', 'persistentvolumes', `create delete ${READ} update patch`],
      ['', 'secrets', 'get list'],
      ['', 'pods nodes', READ],
      ['', 'persistentvolumeclaims persistentvolumeclaims/status', `${READ} update patch`],
      [STORAGE, 'volumeattachments', `${READ} update patch`],
      [STORAGE, 'volumeattachments/status', 'patch'],
      [STORAGE, 'storageclasses csinodes', READ],
      EVENTS,
      [SNAPSHOT, 'volumesnapshotclasses', READ],
      [SNAPSHOT, 'volumesnapshots', `create ${READ} update patch delete`],
      [SNAPSHOT, 'volumesnapshotcontents volumesnapshotcontents/status', `create ${READ} update patch delete`],
      LEASES,
      [STORAGE, 'csistoragecapacities', `${READ} create update patch delete`],
    ),
    rules: [],
  },
}
