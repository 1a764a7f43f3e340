/**
 * The operation of a sidecar on an object, as users see it in `kubectl csi`, in `/debug/stuck` and in metrics. `release`
 * removes the finalizer of a volume. The kubelet does `node-expand`.
 */
export type Operation =
  | 'attach'
  | 'detach'
  | 'release'
  | 'expand'
  | 'modify'
  | 'node-expand'
  | 'provision'
  | 'delete'
  | 'create-snapshot'
  | 'delete-snapshot'
