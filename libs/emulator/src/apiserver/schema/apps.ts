/** The group apps. The server keeps only the metadata of workloads, which names the owners of pods. */
export const APPS = `
DaemonSet
  metadata:1 ObjectMeta
Deployment
  metadata:1 ObjectMeta
ReplicaSet
  metadata:1 ObjectMeta
StatefulSet
  metadata:1 ObjectMeta
`
