/** Facts about the attacher for tests, benchmarks and images. */
export const facts = {
  /** The Go package that the attacher replaces. */
  original: 'github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher',
  /** The RBAC rules in the Helm charts of CSI drivers. The attacher must not need more. */
  rules: [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments/status'], verbs: ['patch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
  mainMethod: 'ControllerPublishVolume',
  /** The message that the attacher logs when its caches are filled and its work starts. */
  startLine: 'Starting CSI attacher',
  leasePrefix: 'external-attacher-leader-',
} as const
