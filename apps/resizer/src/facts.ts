/** Facts about the resizer for tests, benchmarks and images. */
export const facts = {
  /** The Go package that the resizer replaces. */
  original: 'github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer',
  /** The RBAC rules in the Helm charts of CSI drivers. The resizer must not need more. */
  rules: [
    { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['persistentvolumeclaims/status'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattributesclasses'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
  /** The additional permissions for `--node-deployment`, without the Lease. */
  nodeRules: [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['csinodes'], verbs: ['get', 'list', 'watch'] },
  ],
  /** The CSI method whose call proves to tests and benchmarks that the resizer works. */
  mainMethod: 'ControllerExpandVolume',
  /** The message that the resizer logs when its caches are filled and its work starts. */
  startLine: 'Starting external resizer',
  /** The prefix of the Lease's name, before the name of the driver. */
  leasePrefix: 'external-resizer-',
} as const
