/** What tests, benchmarks and images know about this sidecar besides its flags. */
export const facts = {
  /** The Go package that it replaces. */
  original: 'github.com/kubernetes-csi/external-snapshotter/v8/cmd/csi-snapshotter',
  /** The permissions in the charts of drivers. The Go original updates; the snapshotter only patches. */
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
  /** The call to the driver that its work ends in. */
  call: 'CreateSnapshot',
  /** Logged when its caches are filled and its work begins. */
  startLine: 'Starting CSI snapshotter',
  /** What a Lease is called, before the name of the driver. */
  leasePrefix: 'external-snapshotter-leader-',
} as const
