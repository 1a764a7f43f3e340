/** Facts about this sidecar for tests, benchmarks and images. */
export const facts = {
  /** The Go package that it replaces. */
  original: 'github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher',
  /** The permissions in the charts of drivers. The sidecar must not need more. */
  rules: [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
  /** The method of the driver that it calls. */
  call: 'ControllerPublishVolume',
  /** The log line that reports the start of the work, when the caches are filled. */
  startLine: 'Starting CSI attacher',
  /** The prefix of the name of its Lease. */
  leasePrefix: 'external-attacher-leader-',
} as const
