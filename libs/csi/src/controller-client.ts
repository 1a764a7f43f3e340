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

/** The controller RPCs that the sidecars use. Each throws RpcError. */
export function controllerClient(driver: Caller) {
  const rpc =
    <Q, R>(method: UnaryMethod<Q, R>) =>
    (request: Q, options: CallOptions): Promise<R> =>
      driver.call(method, request, options)
  return {
    create: rpc(CreateVolume),
    delete: rpc(DeleteVolume),
    capacity: rpc(GetCapacity),
    publish: rpc(ControllerPublishVolume),
    unpublish: rpc(ControllerUnpublishVolume),
    /** One page. */
    listVolumes: rpc(ListVolumes),
    expand: rpc(ControllerExpandVolume),
    modify: rpc(ControllerModifyVolume),
    createSnapshot: rpc(CreateSnapshot),
    deleteSnapshot: rpc(DeleteSnapshot),
    listSnapshots: rpc(ListSnapshots),
    createGroupSnapshot: rpc(CreateVolumeGroupSnapshot),
    deleteGroupSnapshot: rpc(DeleteVolumeGroupSnapshot),
    getGroupSnapshot: rpc(GetVolumeGroupSnapshot),
  }
}
