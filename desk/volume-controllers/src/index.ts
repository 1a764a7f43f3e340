export { attachDetachController } from './attach-detach/controller.ts'
export { AttachDetachState, type AttachDetachStateOptions } from './attach-detach/state.ts'
export { binder, SCHEDULER } from './binder/controller.ts'
export {
  ATTACHMENTS_BY_VOLUME,
  type Caches,
  cachesSynced,
  createCaches,
  handleKey,
  PODS_BY_CLAIM,
  PODS_BY_NODE,
  runCaches,
  SNAPSHOTS_BY_CLAIM,
  VOLUMES_BY_CLAIM,
  VOLUMES_BY_HANDLE,
} from './caches/caches.ts'
export type { Claim } from './caches/claim.ts'
export { identityOf, PROVISIONED_BY, SELECTED_NODE } from './caches/metadata.ts'
export { type CachedNode, CONTROLLER_MANAGED } from './caches/node.ts'
export { type CachedPod, claimKeysOf, isTerminated } from './caches/pod.ts'
export type { CachedContent, CachedSnapshot } from './caches/snapshot.ts'
export type { Attachment } from './caches/storage.ts'
export { claimKeyOf, type Volume } from './caches/volume.ts'
export { baseController, type ControllerParts, except, settledUnlessFailed } from './control.ts'
export { nodeCan, nodeInfo, openDriver, withSubstituteNode } from './driver/driver.ts'
export { ephemeralVolumeControllers } from './ephemeral/controller.ts'
export { expander } from './expander/controller.ts'
export { decideClaim } from './persistent-volume/claims.ts'
export { persistentVolumeControllers } from './persistent-volume/controller.ts'
export { observeClaim } from './persistent-volume/reconcile.ts'
export { snapshotControllers } from './snapshot/controller.ts'
export { type NodeOptions, volumeManagers } from './volume-manager/controller.ts'
export { folderDisk, memoryDisk } from './volume-manager/disk.ts'
export { giveToGroup } from './volume-manager/ownership.ts'
export { kubeletPaths } from './volume-manager/paths.ts'
export { attachmentName, csiVolumeOf, ephemeralHandle, uniqueVolumeName } from './volume-names.ts'
