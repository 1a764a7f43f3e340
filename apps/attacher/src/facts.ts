/** What tests, benchmarks and images know about this sidecar besides its flags. */
export const facts = {
  /** The Go package that it replaces. */
  original: 'github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher',
  /** The permissions in the charts of drivers; it may need no more. */
  rules: [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
  /** The call to the driver that its work ends in. */
  call: 'ControllerPublishVolume',
  /** Logged when its caches are filled and its work begins. */
  startLine: 'Starting CSI attacher',
  /** What a Lease is called, before the name of the driver. */
  leasePrefix: 'external-attacher-leader-',
} as const
