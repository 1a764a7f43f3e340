/** Facts about this sidecar, in addition to its flags, that tests, benchmarks and images use. */
export const facts = {
  /** The Go package that this sidecar replaces. */
  original: 'github.com/kubernetes-csi/external-snapshotter/v8/cmd/csi-snapshotter',
  /** The permissions that drivers' charts grant to snapshotters. This snapshotter does not need `update`. */
  rules: [
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    {
      apiGroups: ['snapshot.storage.k8s.io'],
      resources: ['volumesnapshotcontents'],
      verbs: ['get', 'list', 'watch', 'update', 'patch'],
    },
    {
      apiGroups: ['snapshot.storage.k8s.io'],
      resources: ['volumesnapshotcontents/status'],
      verbs: ['update', 'patch'],
    },
    { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshotclasses'], verbs: ['list', 'watch'] },
    {
      apiGroups: ['groupsnapshot.storage.k8s.io'],
      resources: ['volumegroupsnapshotcontents'],
      verbs: ['get', 'list', 'watch', 'update', 'patch'],
    },
    {
      apiGroups: ['groupsnapshot.storage.k8s.io'],
      resources: ['volumegroupsnapshotcontents/status'],
      verbs: ['update', 'patch'],
    },
    {
      apiGroups: ['groupsnapshot.storage.k8s.io'],
      resources: ['volumegroupsnapshotclasses'],
      verbs: ['list', 'watch'],
    },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
  /** The CSI method whose call proves to tests and benchmarks that the snapshotter works. */
  mainMethod: 'CreateSnapshot',
  /** The log line that is written when this process leads, before its caches are filled. */
  startLine: 'Starting CSI snapshotter',
  /** The prefix of the name of a Lease. The name of the driver comes after it. */
  leasePrefix: 'external-snapshotter-leader-',
} as const
