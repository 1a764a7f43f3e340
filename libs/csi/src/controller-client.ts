import {
  ControllerExpandVolume,
  ControllerModifyVolume,
  ControllerPublishVolume,
  ControllerUnpublishVolume,
  CreateSnapshot,
  CreateVolume,
  CreateVolumeGroupSnapshot,
  DeleteSnapshot,
  DeleteVolume,
  DeleteVolumeGroupSnapshot,
  GetCapacity,
  GetVolumeGroupSnapshot,
  ListSnapshots,
  ListVolumes,
  type UnaryMethod,
} from '@csi-sidecars/csi-proto'
import type { Caller, CallOptions } from './connection.ts'

export type ControllerClient = ReturnType<typeof controllerClient>
export type SnapshotClient = ReturnType<typeof snapshotClient>

// The clients are separate functions, so that the bundle of a sidecar lacks the messages of unused calls.

/** The calls of the attacher and of the resizer. Each throws `RpcError`. */
export function controllerClient(driver: Caller) {
  return {
    publish: rpc(driver, ControllerPublishVolume),
    unpublish: rpc(driver, ControllerUnpublishVolume),
    listVolumes: rpc(driver, ListVolumes),
    expand: rpc(driver, ControllerExpandVolume),
    modify: rpc(driver, ControllerModifyVolume),
  }
}

/** The calls of the provisioner. Each throws `RpcError`. */
export function volumeClient(driver: Caller) {
  return {
    create: rpc(driver, CreateVolume),
    delete: rpc(driver, DeleteVolume),
    list: rpc(driver, ListVolumes),
    capacity: rpc(driver, GetCapacity),
  }
}

/** The calls of the snapshotter. Each throws `RpcError`. */
export function snapshotClient(driver: Caller) {
  return {
    createSnapshot: rpc(driver, CreateSnapshot),
    deleteSnapshot: rpc(driver, DeleteSnapshot),
    listSnapshots: rpc(driver, ListSnapshots),
    createGroupSnapshot: rpc(driver, CreateVolumeGroupSnapshot),
    deleteGroupSnapshot: rpc(driver, DeleteVolumeGroupSnapshot),
    getGroupSnapshot: rpc(driver, GetVolumeGroupSnapshot),
  }
}

function rpc<Q, R>(driver: Caller, method: UnaryMethod<Q, R>): (request: Q, options: CallOptions) => Promise<R> {
  return (request, options) => driver.call(method, request, options)
}
