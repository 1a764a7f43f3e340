import {
  ControllerExpandVolume,
  type ControllerExpandVolumeRequest,
  type ControllerExpandVolumeResponse,
  ControllerModifyVolume,
  type ControllerModifyVolumeRequest,
  type ControllerModifyVolumeResponse,
  ControllerPublishVolume,
  type ControllerPublishVolumeRequest,
  type ControllerPublishVolumeResponse,
  ControllerUnpublishVolume,
  type ControllerUnpublishVolumeRequest,
  type ControllerUnpublishVolumeResponse,
  ListVolumes,
  type ListVolumesRequest,
  type ListVolumesResponse,
} from '@csi-sidecars/csi-proto'
import type { Caller, CallOptions } from './connection.ts'

/** The controller RPCs that the sidecars use. Each throws RpcError. */
export interface ControllerClient {
  publish(request: ControllerPublishVolumeRequest, options: CallOptions): Promise<ControllerPublishVolumeResponse>
  unpublish(request: ControllerUnpublishVolumeRequest, options: CallOptions): Promise<ControllerUnpublishVolumeResponse>
  /** One page. */
  listVolumes(request: ListVolumesRequest, options: CallOptions): Promise<ListVolumesResponse>
  expand(request: ControllerExpandVolumeRequest, options: CallOptions): Promise<ControllerExpandVolumeResponse>
  modify(request: ControllerModifyVolumeRequest, options: CallOptions): Promise<ControllerModifyVolumeResponse>
}

export function controllerClient(driver: Caller): ControllerClient {
  return {
    publish: (request, options) => driver.call(ControllerPublishVolume, request, options),
    unpublish: (request, options) => driver.call(ControllerUnpublishVolume, request, options),
    listVolumes: (request, options) => driver.call(ListVolumes, request, options),
    expand: (request, options) => driver.call(ControllerExpandVolume, request, options),
    modify: (request, options) => driver.call(ControllerModifyVolume, request, options),
  }
}
