/** The group coordination.k8s.io. The notation is that of schema.ts. */
export const COORDINATION = `
Lease
  metadata:1 ObjectMeta, spec:2 LeaseSpec
LeaseSpec
  acquireTime:3? microtime, holderIdentity:1?, leaseDurationSeconds:2? int, leaseTransitions:5? int,
  preferredHolder:7?, renewTime:4? microtime, strategy:6?
`
