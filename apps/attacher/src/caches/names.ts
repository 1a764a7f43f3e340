/** On VolumeAttachments: the node's id as it was published, for a detach after the node has gone. */
export const NODE_ID_ANNOTATION = 'csi.alpha.kubernetes.io/node-id'
/** On VolumeAttachments with --recover-lost-volumes: what a detach needs once the PersistentVolume is gone. */
export const HANDLE_ANNOTATION = 'csi-sidecars/volume-handle'
export const VOLUME_UID_ANNOTATION = 'csi-sidecars/volume-uid'
/** On in-tree PersistentVolumes: the CSI driver that serves them now. */
export const MIGRATED_TO_ANNOTATION = 'pv.kubernetes.io/migrated-to'

/** The finalizer that a driver's attacher puts on VolumeAttachments and PersistentVolumes. */
export function finalizerName(driverName: string): string {
  const sanitised = driverName.replace(/[^A-Za-z0-9-]/gu, '-')
  return `external-attacher/${sanitised}${sanitised.endsWith('-') ? 'X' : ''}`
}
