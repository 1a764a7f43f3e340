/** Facts about this sidecar for tests, benchmarks and images. */
export const facts = {
  /** The Go package that this sidecar replaces. */
  original: 'github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner',
  /** The permissions that drivers' charts grant to provisioners. The provisioner must work with them alone. */
  rules: [
    {
      apiGroups: [''],
      resources: ['persistentvolumes'],
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
    { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'update'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: ['storage.k8s.io'], resources: ['storageclasses', 'csinodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['storage.k8s.io'], resources: ['volumeattributesclasses'], verbs: ['get'] },
    {
      apiGroups: ['snapshot.storage.k8s.io'],
      resources: ['volumesnapshots'],
      verbs: ['get', 'list', 'watch', 'update'],
    },
    { apiGroups: ['snapshot.storage.k8s.io'], resources: ['volumesnapshotcontents'], verbs: ['get', 'list'] },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch', 'create', 'update'] },
  ],
  /** The CSI call for the main work of this sidecar. */
  mainMethod: 'CreateVolume',
  /** The log line that is written when the caches are filled and the work begins. */
  startLine: 'Started provisioner controller',
  /** The prefix of the Lease's name. The name of the driver follows it. */
  leasePrefix: '',
} as const
