/** The facts about this sidecar, besides its flags, that tests, benchmarks and images use. */
export const facts = {
  /** The Go package that it replaces. */
  original: 'github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner',
  /** The permissions in the charts of drivers. The provisioner must work without further permissions. */
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
  /** The call to the driver that its work ends in. */
  call: 'CreateVolume',
  /** Logged when its caches are filled and its work begins. */
  startLine: 'Started provisioner controller',
  /** The start of the Lease's name, before the name of the driver. */
  leasePrefix: '',
} as const
